// SPDX-License-Identifier: MIT
//
// What every command takes: a model, given as a file or --spec, and the length wanted.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/mrrope.h"

namespace mrrope::cli {

struct ModelOptions {
  std::string file;     // a model file or folder, or a plan file; "-" is a plan on stdin
  std::string spec;     // --spec
  std::string context;  // -c
  std::string factor;   // --factor
  std::string trained;  // --trained
};

// Adds --trained: the length a model was trained for, where its file says something else.
CLI::Option* add_trained(CLI::App& command, std::string& trained);

// read_model(), believing --trained.
Result<ModelFile> open_model(const std::string& path, const std::string& trained);

// Adds MODEL, --spec, -c, --factor and --trained to a command.
void add_model_options(CLI::App& command, ModelOptions& options);

struct Model {
  RopeSpec spec;
  std::int64_t context_target = 0;
  std::optional<Plan> plan;  // of a plan file
  std::string source;
  bool extended = false;               // by mrrope, before; `spec` is what the model was trained with
  std::optional<ModelFile> file = {};  // none: a plan, or words
};

// The length wanted: -c, else --factor, else the plan file's own.
Result<std::int64_t> target_of(const ModelOptions& options, const Model& model);

// Errors carry the flag in `where`.
Result<Model> load_model(const ModelOptions& options);

// The check of an option with a number: CLI::Range would let nan pass.
CLI::Validator number_between(double min, double max);

// The same error, in a flag.
Error at(std::string flag, Error error);

// "none,yarn:truncate=false,mrrope-pro".
Result<std::vector<Method>> parse_methods(const std::string& text);

// Every method that has a table without parameters and is not a modifier: what comparisons show by default.
std::vector<Method> comparable_methods();

// Of the content of all shards: which model it is, under any name.
Result<std::string> model_hash(const GgufModel& model);

// Whether a file has our schema near its start: enough to choose the reader, which then checks everything.
bool is_plan_file(const std::string& path);

// The whole of a file or of stdin ("-"); refuses what is too large to be a plan.
Result<std::string> read_text(const std::string& path);

// Whether one of them is at least as severe as --fail-on says: note, warning, error or never.
bool reaches(const std::vector<Finding>& findings, const std::string& fail_on);

// A plan file, or the folder of a search of mrrope tune.
Result<Plan> plan_of_file(const std::string& path);

}  // namespace mrrope::cli

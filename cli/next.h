// SPDX-License-Identifier: MIT
//
// What to type next. Every command leads to the one after it: inspect to plan, plan to extend, extend to a server; and
// a refusal to what works instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/mrrope.h"

namespace mrrope::cli {

// As it was typed; empty: not at all.
struct Typed {
  std::string file;
  std::string trained;  // --trained
  std::string method;   // --method
  std::string engine;   // --target
};

struct Step {
  std::string label;    // "next", "run"
  std::string command;  // a line for a shell
};

// What becomes of a plan on an engine, and the commands that lead there.
struct Outlook {
  std::optional<Choice> choice;  // nothing: the engine runs nothing that comes near
  std::string trouble;           // then: why
  std::vector<Step> steps;
};

// `plan`: what is wanted, recommended or chosen by --method. The file's own engine unless one is typed.
Outlook outlook_of(const ModelFile& model, const Plan& plan, const Typed& typed, const DeliverOptions& options = {});

// What llama.cpp does with a GGUF that carries no plan.
enum class Rotation {
  unknown,  // it does not load the file, or the file is no GGUF
  none,     // no layer rotates, so no table limits its length
  some,     // the plug-in runs any plan
};
Rotation rotation_in_llama_cpp(const ModelFile& model);

// llama.cpp with the plug-in (docs/plugin.md), which runs the plan of a file whatever the model's file can carry.
Step plug_in_step(const ModelFile& model, const std::string& file, const Plan& plan, const std::string& plan_file);

// describe(), and what runs the plan itself where the file cannot carry it.
std::string explain_choice(const ModelFile& model, const Choice& choice);

// How a model is served that rope_spec() refuses because nothing in it rotates: as it is, at any length. Empty: that is
// not why.
std::string serve_command(const ModelFile& model, const Error& refusal, const std::string& file);

// "model-32k.gguf", "Llama-3-8B-32k": what extend is offered to write, in the current folder.
std::string output_name(const ModelFile& model, std::int64_t context);

}  // namespace mrrope::cli

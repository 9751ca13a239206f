// SPDX-License-Identifier: MIT
//
// mrrope extend, in three parts: the plan (cmd_extend.cpp), and the two formats it is written to.
#pragma once

#include <string>
#include <vector>

#include "cli/input.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

struct ExtendOptions {
  ModelOptions model;
  std::string method;
  std::string plan;    // a plan file instead of -c and --method
  std::string target;  // an engine; empty: llama.cpp, or as many as possible for config.json
  std::string output;
  bool sidecar = false;
  bool in_place = false;
  bool dry_run = false;
  bool undo = false;
  bool force = false;
  bool relabel = false;
  bool json = false;
};

// What was done, for people as it happens and as JSON at the end.
class ExtendReport {
 public:
  explicit ExtendReport(bool json) : json_(json) {}

  struct Change {
    std::string name, before, after;
  };

  void plan(const Plan& plan, const Delivery& delivery);
  void changes(std::vector<Change> changes);
  void wrote(const std::string& path, bool dry_run);
  void verified(double difference);
  // Notes and commands, with `path` for their {}; ends the report.
  void end(const std::vector<std::string>& notes, const std::vector<std::string>& commands, const std::string& path);

 private:
  bool json_;
  std::string method_;
  double factor_ = 1;
  std::int64_t context_trained_ = 0;
  std::int64_t context_target_ = 0;
  double residual_ = 0;
  double scale_residual_ = 0;
  std::vector<Change> changes_;
  std::string path_;
  bool dry_run_ = false;
  std::optional<double> difference_;
};

// Reads what was written and asks what the engine will do with it: the largest difference of an angular speed to the
// plan. Errors: it is more than float32 leaves of a table.
Result<double> read_back(const std::string& path, const std::string& engine, const Plan& plan);

// The exit status.
int extend_gguf(const ExtendOptions& options, const ModelFile& model, const Plan& plan);
int undo_gguf(const ExtendOptions& options, const ModelFile& model);
int extend_hf(const ExtendOptions& options, const ModelFile& model, const Plan& plan);
int undo_hf(const ExtendOptions& options, const ModelFile& model);

}  // namespace mrrope::cli

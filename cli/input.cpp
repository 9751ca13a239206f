// SPDX-License-Identifier: MIT
#include "cli/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "files/file.h"
#include "mrrope/records.h"

namespace mrrope::cli {

namespace {

constexpr std::size_t kMaxFile = std::size_t{64} << 20;

Error no_file_to_correct() {
  return {ErrorCode::invalid_argument, "corrects what a model file says; a spec or a plan has its own length",
          "--trained"};
}

// A plan file says what it is; anything else is a model.
Result<void> load_file(const ModelOptions& options, Model& model) {
  const std::string& path = options.file;
  const bool plan_file = path == "-" || is_plan_file(path);
  if (plan_file) {
    if (!options.trained.empty()) return no_file_to_correct();
    const Result<std::string> text = read_text(path);
    if (!text) return text.error();
    Result<Plan> plan = plan_from_json(*text);
    if (!plan) return at((path == "-" ? "stdin" : path) + ":", plan.error());
    model.spec = plan->spec;
    model.source = plan->source;
    model.plan = *std::move(plan);
    return {};
  }
  Result<ModelFile> file = open_model(path, options.trained);
  if (!file) return file.error();
  Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return at(path + ":", spec.error());
  model.spec = *std::move(spec);
  model.source = path;
  model.extended = was_extended(*file);
  model.file = *std::move(file);
  return {};
}

}  // namespace

Error at(std::string flag, Error error) {
  error.where = error.where.empty() ? std::move(flag) : std::move(flag) + " " + error.where;
  return error;
}

Result<std::int64_t> target_of(const ModelOptions& options, const Model& model) {
  if (!options.context.empty() && !options.factor.empty()) {
    return Error{ErrorCode::invalid_argument, "give either -c or --factor, not both", ""};
  }
  if (!options.context.empty()) {
    Result<std::int64_t> tokens = parse_context(options.context);
    return tokens ? tokens : at("-c", tokens.error());
  }
  if (!options.factor.empty()) {
    const Result<double> factor = parse_number(options.factor);
    if (!factor || !(*factor >= 1 && *factor <= kMaxFactor)) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("expected a number between 1 and 2^20, found \"{}\"", options.factor), "--factor"};
    }
    return static_cast<std::int64_t>(std::llround(*factor * static_cast<double>(model.spec.context_trained)));
  }
  if (model.plan) return model.plan->context_target;
  return Error{ErrorCode::invalid_argument,
               fmt::format("say how long a text you want: -c {} would be four times the trained length",
                           format_context(4 * model.spec.context_trained)),
               "-c"};
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  auto* file = command.add_option(
      "MODEL", options.file, "a .gguf, a Hugging Face folder or config.json, a plan\nfile, or - for a plan on stdin");
  command
      .add_option("--spec", options.spec,
                  "the model in words: dim=128,base=10000,ctx=4096\n"
                  "(dim: rotated coordinates per head). A model with a\n"
                  "scaling of its own adds scaling=llama3,\n"
                  "scaling_factor=8,scaling_ctx=8k")
      ->type_name("SPEC")
      ->excludes(file);
  command.add_option("-c,--ctx-size", options.context, "the length wanted: 32768, 32k, 1M tokens")->type_name("N");
  command.add_option("--factor", options.factor, "the same as a multiple of the trained length")->type_name("S");
  add_trained(command, options.trained);
}

CLI::Option* add_trained(CLI::App& command, std::string& trained) {
  return command
      .add_option(
          "--trained", trained,
          "what the model was really trained for, where its file\nsays something else (Qwen 3: 32k, says 40960)")
      ->type_name("N");
}

Result<ModelFile> open_model(const std::string& path, const std::string& trained) {
  Result<ModelFile> file = read_model(path);
  if (!file || trained.empty()) return file;
  const Result<std::int64_t> tokens = parse_context(trained);
  if (!tokens) return at("--trained", tokens.error());
  file->context_trained = *tokens;
  if (const Result<RopeSpec> spec = rope_spec(*file); !spec && spec.error().where == "context_trained")
    return Error{spec.error().code, spec.error().message, "--trained"};
  return file;
}

Result<std::string> model_hash(const GgufModel& model) {
  std::string all;
  for (const GgufFile& shard : model.shards) {
    const Result<std::string> hash = eval::content_hash_of_file(shard.path);
    if (!hash) return hash.error();
    all += *hash;
  }
  return model.shards.size() == 1 ? all : eval::content_hash(all);
}

bool is_plan_file(const std::string& path) {
  std::string start(255, '\0');
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  const Result<std::size_t> count = file ? file->read_at(0, base::bytes_of(start)) : Result<std::size_t>(file.error());
  return count && start.find("mrrope.plan/") < *count;
}

Result<std::string> read_text(const std::string& path) {
  const Error too_large{ErrorCode::malformed, "too large to be a plan file", path};
  if (path != "-") {
    Result<std::string> text = base::read_file(path, kMaxFile);
    return !text && text.error().code == ErrorCode::malformed ? too_large : text;
  }
  std::string text;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stdin);
    text.append(buffer.data(), got);
    if (text.size() > kMaxFile) return too_large;
    if (got == 0) break;
  }
  if (std::ferror(stdin) != 0) return Error{ErrorCode::io, std::strerror(errno), path};  // NOLINT
  return text;
}

bool reaches(const std::vector<Finding>& findings, const std::string& fail_on) {
  if (fail_on == "never") return false;
  const Severity threshold = fail_on == "note"      ? Severity::note
                             : fail_on == "warning" ? Severity::warning
                                                    : Severity::error;
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity >= threshold; });
}

Result<Plan> plan_of_file(const std::string& given) {
  std::error_code status;
  const std::string path = std::filesystem::is_directory(base::to_path(given), status) ? given + "/plan.json" : given;
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  Result<Plan> plan = plan_from_json(*text);
  if (!plan) return Error{plan.error().code, to_string(plan.error()), path};
  return plan;
}

Result<Model> load_model(const ModelOptions& options) {
  Model model;
  if (!options.spec.empty()) {
    if (!options.trained.empty()) return no_file_to_correct();
    Result<RopeSpec> spec = parse_spec(options.spec);
    if (!spec) return at("--spec", spec.error());
    model.spec = *std::move(spec);
    model.source = "--spec " + options.spec;
  } else if (!options.file.empty()) {
    if (const auto ok = load_file(options, model); !ok) return ok.error();
  } else {
    return Error{ErrorCode::invalid_argument,
                 "which model? Give a .gguf, a Hugging Face folder, a plan file, or --spec dim=128,base=10000,ctx=4096",
                 "MODEL"};
  }
  const Result<std::int64_t> target = target_of(options, model);
  if (!target) return target.error();
  model.context_target = *target;
  return model;
}

CLI::Validator number_between(double min, double max) {
  return {[min, max](const std::string& text) -> std::string {
            const Result<double> number = parse_number(text);
            if (number && *number >= min && *number <= max) return "";
            return fmt::format("expected a number between {} and {}, found {}", format_number(min), format_number(max),
                               text);
          },
          "NUMBER"};
}

Result<std::vector<Method>> parse_methods(const std::string& text) {
  std::vector<Method> methods;
  for (const std::string_view part : base::split(text, ',')) {
    Result<Method> method = parse_method(part);
    if (!method) return at("--methods", method.error());
    methods.push_back(*std::move(method));
  }
  return methods;
}

std::vector<Method> comparable_methods() {
  std::vector<Method> methods;
  for (const MethodInfo& info : method_catalogue()) {
    if (info.is_modifier || info.needs_parameters) continue;
    methods.push_back(*parse_method(info.name));
  }
  return methods;
}

}  // namespace mrrope::cli

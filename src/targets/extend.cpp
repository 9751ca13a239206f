// SPDX-License-Identifier: MIT
#include "mrrope/extend.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "base/paths.h"
#include "base/text.h"
#include "mrrope/catalogue.h"
#include "mrrope/units.h"
#include "targets/deviation.h"
#include "targets/extend_formats.h"
#include "targets/windows.h"

namespace mrrope {

namespace {

// float32 factors stand between a plan and the file, and nothing else.
constexpr double kVerified = 1e-6;

bool same_scaling(const RopeSpec& a, const RopeSpec& b, std::size_t group) {
  const double scale = trained_table(a, group).attention_scale / trained_table(b, group).attention_scale;
  return table_difference(spectrum_of(a, group).inv_freq, spectrum_of(b, group).inv_freq) <= kSameModel &&
         std::fabs(scale - 1) <= kSameModel;
}

// Fewer tokens than the model was trained for would be a loss, whoever asks for it. As many, with another rotation, is
// something to measure.
Result<void> check_longer(const Plan& plan, std::int64_t trained) {
  const bool as_it_is = std::holds_alternative<None>(plan.method.law) && plan.method.modifiers.empty();
  if (plan.context_target > trained || (plan.context_target == trained && !as_it_is)) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("the model already reaches {} tokens; ask for more, such as {}", trained,
                           format_context(2 * trained)),
               "plan"};
}

Result<void> check_factor(const Plan& plan, std::int64_t trained, const ExtendOptions& options) {
  const double factor = static_cast<double>(plan.context_target) / static_cast<double>(trained);
  if (factor <= kMostFactor || options.any_factor) return {};
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("{} tokens are {:.6g} times the {} that the model was trained with; the paper measured up to 16 "
                  "times. Expect little at any length, because short texts are rotated as slowly. More than {:g} times "
                  "is written only if that is asked for",
                  plan.context_target, factor, trained, kMostFactor),
      "plan", "any_factor"};
}

Result<void> check_no_sidecar_of_its_own(const ModelFile& model) {
  if (!model.sidecar) return {};
  std::error_code status;
  const std::filesystem::path itself = std::filesystem::canonical(base::to_path(model.path), status);
  return Error{ErrorCode::inconsistent,
               fmt::format("this is a sidecar, which extends a model already; take it back first, or extend the model "
                           "itself: {}",
                           base::printable(base::to_text(itself), base::to_text(itself).size())),
               model.path};
}

// The model anew, if a change of it in place had been interrupted and was undone.
Result<std::optional<ModelFile>> recovered(const ModelFile& model, const ExtendOptions& options) {
  if (options.dry_run || model.gguf() == nullptr) return std::optional<ModelFile>();
  const Result<bool> undone = recover_gguf(model.path);
  if (!undone) return undone.error();
  if (!*undone) return std::optional<ModelFile>();
  Result<ModelFile> again = read_model(model.path);
  if (!again) return again.error();
  again->context_trained = model.context_trained;
  return std::optional<ModelFile>(*std::move(again));
}

}  // namespace

Result<void> check_fit(const Plan& plan, const RopeSpec& spec) {
  const auto differs = [](std::string_view what, const auto& planned, const auto& here) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("the plan was made for a model with {} {}; this one has {}", what, planned, here), ""};
  };
  if (plan.spec.groups.size() != spec.groups.size())
    return differs("groups of layers:", plan.spec.groups.size(), spec.groups.size());
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const LayerGroup& planned = plan.spec.groups[g];
    const LayerGroup& here = spec.groups[g];
    if (planned.rotary_dim != here.rotary_dim) return differs("a rotary width of", planned.rotary_dim, here.rotary_dim);
    if (planned.base != here.base) return differs("base", format_number(planned.base), format_number(here.base));
  }
  if (plan.spec.context_trained != spec.context_trained)
    return differs("a trained length of", plan.spec.context_trained, spec.context_trained);
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    if (same_scaling(plan.spec, spec, g)) continue;
    return Error{ErrorCode::inconsistent, "the plan was made for a model that was trained with another scaling", ""};
  }
  return {};
}

Result<double> targets::read_back(const std::string& path, std::string_view engine, const Plan& plan) {
  const auto look = [&]() -> Result<Effective> {
    const Result<ModelFile> written = read_model(path);
    if (!written) return written.error();
    return effective(engine, *written, plan.context_target);
  };
  Result<Effective> now = look();
  // Another process may have begun to change it again; a fifth of a second is enough for most
  for (int looks = 10; !now && looks > 0; --looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    now = look();
  }
  if (!now) return now.error();
  const bool comparable = now->loads && now->groups.size() == plan.groups.size();
  const double difference = comparable ? deviation(*now, plan).table : 1;
  if (difference > kVerified) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("read back, the file differs from the plan by {:.2g}", difference), path};
  }
  return difference;
}

Extension targets::described(const ModelFile& source, const Delivery& delivery, const Plan& plan, std::string model) {
  Extension out;
  out.residual = delivery.residual;
  out.scale_residual = delivery.scale_residual;
  out.services = delivery.services;
  out.notes = delivery.notes;
  Plan stored = plan;
  if (plan.length) {
    out.notes.push_back(
        fmt::format("{} has a table for every length; the file holds the one for {} tokens, which texts of "
                    "any length then use.",
                    brief(plan.method), *plan.length));
    stored.length.reset();  // what explain() says of changing tables does not hold for a file
  }
  // What windows alone rotate by stays within them: no angle is new
  if (targets::only_window(source) == 0) {
    for (std::string& caution : explain(stored).cautions) out.notes.push_back(std::move(caution));
  }
  if (!model.empty()) {  // a dry run that names no file has nothing to start
    const std::string word = base::shell_quoted(model);
    for (const std::string& command : delivery.commands) out.commands.push_back(base::replaced(command, "{}", word));
  }
  out.model = std::move(model);
  return out;
}

Result<Extension> extend_model(const ModelFile& model, const Plan& plan, const ExtendOptions& options) {
  const Result<std::optional<ModelFile>> again = recovered(model, options);
  if (!again) return again.error();
  const ModelFile& current = *again ? **again : model;
  const Result<RopeSpec> spec = rope_spec(current);
  if (!spec) return spec.error();
  if (const auto ok = check_fit(plan, *spec); !ok) return Error{ok.error().code, ok.error().message, "plan"};
  if (const auto ok = check_longer(plan, spec->context_trained); !ok) return ok.error();
  if (const auto ok = check_no_sidecar_of_its_own(current); !ok) return ok.error();
  if (!was_extended(current)) {  // which is refused below, and the better reason
    if (const auto ok = check_factor(plan, spec->context_trained, options); !ok) return ok.error();
  }
  return current.gguf() != nullptr ? targets::extend_gguf(current, plan, options)
                                   : targets::extend_hf(current, plan, options);
}

Result<Extension> undo_extension(const ModelFile& model, const ExtendOptions& options) {
  const Result<std::optional<ModelFile>> again = recovered(model, options);
  if (!again) return again.error();
  const ModelFile& current = *again ? **again : model;
  if (current.sidecar) return targets::undo_sidecar(current, options);
  return current.gguf() != nullptr ? targets::undo_gguf(current, options) : targets::undo_hf(current, options);
}

}  // namespace mrrope

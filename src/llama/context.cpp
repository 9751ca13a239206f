// SPDX-License-Identifier: MIT
//
// A context of llama.cpp: its options, its cache, and the plan it rotates by.
#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "llama/context_impl.h"
#include "llama/log.h"
#include "nodes/plan_fit.h"

namespace mrrope {

namespace {

using llama::LogScope;
using nodes::NodeRotation;

// ---- Options --------------------------------------------------------------------------------------------------------

Error bad_option(const char* option, std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), "", option};
}

// Those llama.cpp's command line takes (common/arg.cpp).
std::optional<ggml_type> cache_type(const std::string& name) {
  for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0,
                               GGML_TYPE_Q4_1, GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1}) {
    if (name == ggml_type_name(type)) return type;
  }
  return std::nullopt;
}

Result<void> set_cache(const ContextOptions& options, llama_context_params& params) {
  constexpr const char* kTypes = "expected f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1, found \"{}\"";
  const std::optional<ggml_type> k = cache_type(options.cache_type_k), v = cache_type(options.cache_type_v);
  if (!k) return bad_option("cache_type_k", fmt::format(fmt::runtime(kTypes), options.cache_type_k));
  if (!v) return bad_option("cache_type_v", fmt::format(fmt::runtime(kTypes), options.cache_type_v));
  params.type_k = *k;
  params.type_v = *v;
  if (options.flash_attn == "on") {
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  } else if (options.flash_attn == "off") {
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  } else if (options.flash_attn == "auto") {
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
  } else {
    return bad_option("flash_attn", fmt::format("expected on, off or auto, found \"{}\"", options.flash_attn));
  }
  params.offload_kqv = options.kv_offload;
  params.swa_full = options.swa_full;
  return {};
}

Result<void> set_sizes(const ContextOptions& options, llama_context_params& params) {
  constexpr int kMaxThreads = 512;  // GGML_MAX_N_THREADS
  constexpr int kMaxUbatch = 1 << 16;
  if (options.ctx_size < 0 || options.ctx_size > kMaxPosition) {
    return bad_option("ctx_size", fmt::format("expected 0 to {}, found {}", kMaxPosition, options.ctx_size));
  }
  if (options.ubatch_size < 1 || options.ubatch_size > kMaxUbatch) {
    return bad_option("ubatch_size", fmt::format("expected 1 to {}, found {}", kMaxUbatch, options.ubatch_size));
  }
  for (const auto& [option, count] :
       {std::pair("threads", options.threads), {"threads_batch", options.threads_batch}}) {
    if (count < 0 || count > kMaxThreads) {
      return bad_option(option, fmt::format("expected 0 to {}, found {}", kMaxThreads, count));
    }
  }
  params.n_ctx = static_cast<std::uint32_t>(options.ctx_size);
  // One batch is one ubatch: a graph is over when llama_decode returns.
  params.n_batch = params.n_ubatch = static_cast<std::uint32_t>(options.ubatch_size);
  const int all = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  params.n_threads = options.threads > 0 ? options.threads : all;
  params.n_threads_batch = options.threads_batch > 0 ? options.threads_batch : params.n_threads;
  return {};
}

// ---- A plan and the model it is for ---------------------------------------------------------------------------------

Result<void> check_fit(const Plan& plan, const std::vector<nodes::NodeRotation>& nodes, int n_layer) {
  if (plan.groups.size() != plan.spec.groups.size()) {
    return Error{ErrorCode::inconsistent, "expected a table for each group of the spec", "groups"};
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const LayerGroup& group = plan.spec.groups[g];
    if (2 * plan.groups[g].pair_factors.size() != static_cast<std::size_t>(group.rotary_dim)) {
      return Error{ErrorCode::inconsistent, "expected a factor for each pair",
                   fmt::format("groups[{}].pair_factors", g)};
    }
    for (const int layer : group.layers) {
      if (layer < 0 || layer >= n_layer) {
        return nodes::other_model(fmt::format("it names layer {}, the model has {}", layer, n_layer),
                                  fmt::format("spec.groups[{}].layers", g));
      }
    }
  }
  for (const nodes::NodeRotation& node : nodes) {
    if (node.layer < 0 || node.layer >= n_layer) {
      return Error{ErrorCode::unsupported, "the graph does not tell which layer a rotation belongs to", ""};
    }
    if (const auto ok = nodes::check_fit(plan, {node.layer, node.dims, node.base}); !ok) return ok.error();
  }
  return {};
}

}  // namespace

// ---- Context --------------------------------------------------------------------------------------------------------

Result<LlamaContext> LlamaContext::create(const LlamaModel& model, const ContextOptions& options) {
  const llama_model* weights = model.impl_->model.get();
  if (llama_model_has_encoder(weights) || !llama_model_has_decoder(weights) || llama_model_is_diffusion(weights)) {
    return Error{ErrorCode::unsupported, "the model does not continue a text token by token", model.architecture()};
  }
  if (model.impl_->vocab_only) return Error{ErrorCode::invalid_argument, "the model has no weights", "vocab_only"};
  llama_context_params params = llama_context_default_params();
  if (const auto ok = set_cache(options, params); !ok) return ok.error();
  if (const auto ok = set_sizes(options, params); !ok) return ok.error();

  auto impl = std::make_unique<Impl>(model.impl_, options);
  params.cb_eval = llama::Rotations::on_node;
  params.cb_eval_user_data = &impl->rotations;
  params.abort_callback = [](void* flag) {
    return static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
  params.abort_callback_data = &impl->cancel;
  params.no_perf = true;

  const LogScope log;
  impl->context.reset(llama_init_from_model(model.impl_->model.get(), params));
  if (!impl->context) return Error{ErrorCode::io, "llama.cpp makes no context of these options" + log.tail(), ""};
  if (impl->memory() == nullptr) {
    return Error{ErrorCode::unsupported, "the model keeps no cache of a text", model.architecture()};
  }
  impl->batch.resize(std::min(llama_n_batch(impl->context.get()), llama_n_ubatch(impl->context.get())));
  return LlamaContext(std::move(impl));
}

LlamaContext::LlamaContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LlamaContext::LlamaContext(LlamaContext&&) noexcept = default;
LlamaContext& LlamaContext::operator=(LlamaContext&&) noexcept = default;
LlamaContext::~LlamaContext() = default;

const ContextOptions& LlamaContext::options() const noexcept { return impl_->given; }

Result<void> LlamaContext::use(const Plan& plan) {
  if (const auto ok = impl_->look_at_file(); !ok) return ok.error();
  const int n_layer = llama_model_n_layer(impl_->model->model.get());
  if (const auto ok = check_fit(plan, impl_->of_file, n_layer); !ok) return ok.error();
  std::vector<llama::TableRung> rungs(1);
  rungs[0].tables = llama::injection_of(plan, n_layer);
  impl_->start_over(std::move(rungs));
  return {};
}

Result<void> LlamaContext::use(const Ladder& ladder) {
  if (const auto ok = check_ladder(ladder); !ok) return ok.error();
  if (const auto ok = impl_->look_at_file(); !ok) return ok.error();
  const int n_layer = llama_model_n_layer(impl_->model->model.get());
  for (const Rung& rung : ladder.rungs) {
    if (const auto ok = check_fit(rung.plan, impl_->of_file, n_layer); !ok) return ok.error();
  }
  std::vector<llama::TableRung> rungs = llama::rungs_of(ladder, n_layer);
  for (std::size_t r = 0; r + 1 < rungs.size(); ++r) {
    if (llama::turn_between(rungs[r].tables, rungs[r + 1].tables, impl_->of_file).tables.empty()) continue;
    if (const std::string why = impl_->why_no_climb(); !why.empty()) {
      return Error{ErrorCode::unsupported, "the model cannot climb: " + why + "; use one plan", ""};
    }
    break;
  }
  impl_->start_over(std::move(rungs));
  return {};
}

void LlamaContext::use_file() { impl_->start_over(std::vector<llama::TableRung>(1)); }

Result<void> LlamaContext::truncate(std::size_t n) { return impl_->truncate(n); }
void LlamaContext::clear() { impl_->clear(); }
void LlamaContext::request_cancel() noexcept { impl_->cancel.store(true, std::memory_order_relaxed); }
std::size_t LlamaContext::n_cached() const { return impl_->positions.size(); }
std::size_t LlamaContext::ubatch_size() const { return impl_->ubatch(); }
std::size_t LlamaContext::ctx_size() const { return llama_n_ctx_seq(impl_->context.get()); }
std::vector<Rotation> LlamaContext::rotation() const { return nodes::group_by_table(impl_->rotations.seen()); }

// ---- Cache ----------------------------------------------------------------------------------------------------------

// Zeroes the cache too: masked keys and values still take part in products, and those of another plan may be NaN.
void LlamaContext::Impl::start_over(std::vector<llama::TableRung> others) {
  const LogScope log;
  llama_memory_clear(memory(), true);
  positions.clear();
  farthest = -1;
  rungs = std::move(others);
  rung = 0;
  rotations.inject(&rungs[0].tables);
  rotations.follow_cells(rungs.size() > 1);
  rotations.forget();
}

void LlamaContext::Impl::clear() {
  const LogScope log;
  const bool climbs = rungs.size() > 1;
  // Each turn multiplies all cells by the ratio of two scales: what no text turns back would grow without end
  llama_memory_clear(memory(), climbs);
  rotations.follow_cells(climbs);
  positions.clear();
  farthest = -1;
}

Result<void> LlamaContext::Impl::drop_from(std::size_t n) {
  const LogScope log;
  // The next token looks back over a whole window, and sliding caches keep little more.
  const int window = llama_model_n_swa(model->model.get());
  const std::int64_t oldest_needed = std::max<std::int64_t>(static_cast<std::int64_t>(n) - window + 1, 0);
  if (window > 0 && llama_memory_seq_pos_min(memory(), 0) > oldest_needed) {
    return Error{ErrorCode::unsupported,
                 fmt::format("sliding layers have forgotten what token {} would attend to; use swa_full", n), ""};
  }
  if (!llama_memory_seq_rm(memory(), 0, static_cast<llama_pos>(n), -1)) {
    return Error{ErrorCode::unsupported, "part of the model is recurrent, and its state cannot go back", ""};
  }
  positions.resize(std::min(n, positions.size()));
  farthest = *std::max_element(positions.begin(), positions.end());
  return {};
}

Result<void> LlamaContext::Impl::truncate(std::size_t n) {
  assert(n <= positions.size());
  if (n == positions.size()) return {};
  if (n > 0) return drop_from(n);
  clear();
  return {};
}

void LlamaContext::Impl::roll_back(std::size_t n) {
  if (n == 0 || !drop_from(n)) clear();
}

// ---- Climbing -------------------------------------------------------------------------------------------------------

std::string LlamaContext::Impl::why_no_climb() const {
  if (const auto ok = llama::check_turns(of_file); !ok) return ok.error().message;
  if (const int layer = rotations.changed_after(); layer >= 0) {
    return fmt::format("layer {} changes its keys after their rotation", layer);
  }
  if (given.cache_type_k == "bf16") return "ggml rotates no keys in bf16: take f16 or f32 for them";
  std::set<int> cached, rotating;
  std::map<std::string, int> caches;  // by device
  for (const NodeRotation& node : of_file) rotating.insert(node.layer);
  for (const auto& [cells, shared] : rotations.caches()) {
    cached.insert(shared.layers.begin(), shared.layers.end());
    ++caches[shared.device];
  }
  if (cached.empty()) return "it keeps no keys";
  const llama_model* weights = model->model.get();
  if (llama_model_is_recurrent(weights) || llama_model_is_hybrid(weights)) {
    for (const int layer : rotating) {
      if (!cached.contains(layer)) return fmt::format("the state of layer {} is made of rotated keys", layer);
    }
  }
  // Where there are windows, there are two caches. llama.cpp shifts both or none, and ends the process where no layer of
  // one rotates.
  if (llama_model_n_swa(weights) > 0) {
    const auto two = [](const auto& device) { return device.second > 1; };
    if (std::none_of(caches.begin(), caches.end(), two)) return "all of its layers see a window only, or none does";
    for (const auto& [cells, shared] : rotations.caches()) {
      const auto rotates = [&](int layer) { return rotating.contains(layer); };
      if (std::any_of(shared.layers.begin(), shared.layers.end(), rotates)) continue;
      return fmt::format("layer {}, with those that share its cache, does not rotate", shared.layers.front());
    }
  }
  if (llama_memory_can_shift(memory())) return "";
  // Sliding layers that keep a window only cannot lose tokens in the middle, and can be rotated: whether all else can be
  // shifted, a context says in which they keep all.
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 32;
  params.swa_full = true;
  const LogScope log;
  const llama_context_ptr whole(llama_init_from_model(model->model.get(), params));
  if (!whole) return "there is no memory for a small context that would tell whether it can";
  if (llama_memory_can_shift(llama_get_memory(whole.get()))) return "";
  return "llama.cpp cannot shift its cache";
}

std::size_t LlamaContext::Impl::on_one_rung(std::span<const std::int32_t> at) const {
  std::int32_t reach = farthest;
  std::size_t count = 0;
  std::size_t first = 0;
  for (const std::int32_t position : at) {
    reach = std::max(reach, position);
    const std::size_t one = llama::rung_that_holds(rungs, std::int64_t{reach} + 1);
    if (count == 0) first = one;
    if (one != first) break;
    ++count;
  }
  return count;
}

// Nothing was injected before the first look, so whatever was decoded shows what the file wants.
Result<void> LlamaContext::Impl::look_at_file() {
  if (!of_file.empty()) return {};
  if (rotations.seen().empty() && positions.empty()) {
    const Token any = 0;
    const std::int32_t first = 0;
    const Result<void> decoded = decode_chunk({&any, 1}, {&first, 1}, 1);
    clear();
    if (!decoded) return decoded.error();
  }
  of_file = rotations.seen();
  if (of_file.empty()) return Error{ErrorCode::unsupported, "no layer of the model rotates", ""};
  return {};
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// Models to run, and what the tests of the runtime share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mrrope/mrrope.h"
#include "mrrope/runtime.h"

namespace mrrope::test {

namespace fs = std::filesystem;

// MRROPE_TINY_MODELS, or the newest folder that tests/llama/harness.py made; empty if there is none.
inline fs::path tiny_models() {
  if (const char* folder = std::getenv("MRROPE_TINY_MODELS")) return folder;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path root =
      (cache != nullptr && *cache != 0 ? fs::path(cache) : fs::path(home ? home : "/") / ".cache") / "mrrope";
  fs::path newest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (!entry.path().filename().string().starts_with("tiny_models-")) continue;
    if (newest.empty() || fs::last_write_time(entry) > fs::last_write_time(newest)) newest = entry.path();
  }
  return newest;
}

inline std::string tiny(const std::string& name) { return (tiny_models() / (name + ".gguf")).string(); }

// A small model that was trained: MRROPE_TINY_512, or the one in tests/models, or beside the data.
inline fs::path trained_model() {
  if (const char* path = std::getenv("MRROPE_TINY_512")) return path;
  const fs::path ours = fs::path(MRROPE_TESTS) / "models" / "tiny-512.gguf";
  if (fs::exists(ours)) return ours;
  const char* data = std::getenv("MRROPE_DATA");
  return data == nullptr ? fs::path() : fs::path(data).parent_path() / "models" / "tiny-512.gguf";
}

#define MRROPE_NEED_TINY_MODELS()                                                                                \
  if (!mrrope::test::fs::exists(mrrope::test::tiny("llama")))                                                    \
  GTEST_SKIP() << "no tiny models; $(tools/engine_env gguf) tools/make_tiny_models.py DIR makes them, then set " \
                  "MRROPE_TINY_MODELS=DIR"

// One thread: rounding must not depend on who else uses the machine.
inline ContextOptions one_thread(std::int64_t ctx_size = 512, const std::string& flash_attn = "off") {
  return {.ctx_size = ctx_size, .threads = 1, .flash_attn = flash_attn};
}

inline LlamaModel load(const std::string& path, const LlamaModelOptions& options = {}) {
  Result<LlamaModel> model = LlamaModel::load(path, options);
  if (!model) throw std::runtime_error(to_string(model.error()));
  return *std::move(model);
}

inline LlamaContext context_of(const LlamaModel& model, const ContextOptions& options = one_thread()) {
  Result<LlamaContext> context = LlamaContext::create(model, options);
  if (!context) throw std::runtime_error(to_string(context.error()));
  return *std::move(context);
}

// What decode says when another thread asks it to stop after a while.
inline Result<void> decode_and_cancel(LlamaContext& context, std::span<const Token> tokens,
                                      std::chrono::steady_clock::duration after) {
  std::thread impatient([&] {
    std::this_thread::sleep_for(after);
    context.request_cancel();
  });
  Result<void> decoded = context.decode(tokens);
  impatient.join();
  return decoded;
}

inline std::vector<Token> random_tokens(const LlamaModel& model, std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<Token> tokens(n);
  for (Token& t : tokens) t = static_cast<Token>(random() % static_cast<unsigned>(model.n_vocab()));
  return tokens;
}

// 0, step, 2 step, …
inline std::vector<std::int32_t> positions(std::size_t n, std::int32_t step, std::int32_t first = 0) {
  std::vector<std::int32_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = first + static_cast<std::int32_t>(i) * step;
  return out;
}

// All rows of logits, one after the other.
inline std::vector<float> logits(LlamaContext& context, const std::vector<Token>& tokens,
                                 const std::vector<std::int32_t>& at = {}) {
  std::vector<float> rows;
  const auto keep = [&](std::size_t, std::span<const float> row) { rows.insert(rows.end(), row.begin(), row.end()); };
  if (const auto ok = context.decode(tokens, {.logits_from = 0, .positions = at}, keep); !ok) {
    throw std::runtime_error(to_string(ok.error()));
  }
  return rows;
}

inline void use(LlamaContext& context, const Plan& plan) {
  if (const auto ok = context.use(plan); !ok) throw std::runtime_error(to_string(ok.error()));
}

// Largest difference, relative to the largest value.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 1e9;
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(a[i]) - b[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(a[i])));
  }
  return difference / largest;
}

inline ModelFile file_of(const std::string& path) {
  Result<ModelFile> file = read_model(path);
  if (!file) throw std::runtime_error(to_string(file.error()));
  return *std::move(file);
}

// The model's plan for `factor` times its length.
inline Plan plan_for(const std::string& path, const std::string& method = "mrrope-pro", int factor = 8) {
  const RopeSpec spec = *rope_spec(file_of(path));
  Result<Plan> plan = make_plan(spec, spec.context_trained * factor, *parse_method(method));
  if (!plan) throw std::runtime_error(to_string(plan.error()));
  return *std::move(plan);
}

// An edited copy of a model, gone with this object.
class EditedCopy {
 public:
  EditedCopy(const std::string& source, const GgufEdits& edits) {
    static int number = 0;
    path_ = (fs::temp_directory_path() / fmt_name(::getpid(), number++)).string();
    if (const auto ok = write_gguf(*file_of(source).gguf(), edits, path_, {.overwrite = true}); !ok) {
      throw std::runtime_error(to_string(ok.error()));
    }
  }
  ~EditedCopy() { fs::remove(path_); }
  EditedCopy(const EditedCopy&) = delete;
  EditedCopy& operator=(const EditedCopy&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string fmt_name(int process, int number) {
    return "mrrope-runtime-" + std::to_string(process) + "-" + std::to_string(number) + ".gguf";
  }
  std::string path_;
};

// The edits of `mrrope extend` (`--relabel`).
inline GgufEdits edits_for(const std::string& source, const Plan& plan, bool relabel = false) {
  Result<Delivery> delivery = deliver("llama.cpp", plan, file_of(source), {.relabel = relabel});
  if (!delivery) throw std::runtime_error(to_string(delivery.error()));
  return delivery->gguf;
}

}  // namespace mrrope::test

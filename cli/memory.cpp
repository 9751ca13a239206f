// SPDX-License-Identifier: MIT
#include "cli/memory.h"

#include <fmt/format.h>

namespace mrrope::cli {

std::string size_text(double bytes) {
  const char* unit = "KiB";
  double value = bytes / 1024;
  for (const char* next : {"MiB", "GiB", "TiB"}) {
    if (value < 1000) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:.3g} {}", value, unit);
}

std::string cache_text(const ModelFile& model, std::int64_t tokens) {
  const double bytes = cache_bytes(model, tokens);
  return bytes > 0 ? size_text(bytes) : "";
}

double cache_bytes(const ModelFile& model, std::int64_t tokens) {
  const KvCache cache = kv_cache(model, tokens);
  return cache.bytes + cache.recurrent_bytes;
}

base::Json bytes_json(double bytes) {
  return bytes < 1e15 ? base::Json(static_cast<std::int64_t>(bytes)) : base::Json(bytes);
}

std::string cache_sentence(double bytes, std::int64_t tokens) {
  return fmt::format("{} for keys and values of {} tokens (f16, one sequence)", size_text(bytes), tokens);
}

std::vector<std::string> cache_remarks(const ModelFile& model, std::int64_t tokens) {
  const KvCache cache = kv_cache(model, tokens);
  const int layers = facts_of(model).layers;
  const int keeping = cache.full_layers + cache.sliding_layers + cache.recurrent_layers;
  std::vector<std::string> remarks;
  if (cache.sliding_layers > 0) {
    remarks.push_back(
        fmt::format("{} of {} layers keep at most {} tokens", cache.sliding_layers, layers, cache.sliding_cells));
  }
  if (cache.recurrent_layers > 0) {
    const std::string size =
        cache.recurrent_bytes > 0 ? fmt::format(" ({} in all)", size_text(cache.recurrent_bytes)) : "";
    remarks.push_back(fmt::format("{} of {} layers keep a state{}{}", cache.recurrent_layers, layers,
                                  keeping > layers ? " as well" : " instead", size));
  }
  if (keeping > 0 && keeping < layers) {
    remarks.push_back(fmt::format("{} of {} layers keep nothing", layers - keeping, layers));
  }
  return remarks;
}

}  // namespace mrrope::cli

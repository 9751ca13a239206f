// SPDX-License-Identifier: MIT
//
// A model in memory: what engines have that mapped the file themselves.
#include <fmt/format.h>

#include <string_view>

#include "formats/gguf_parse.h"
#include "formats/gguf_rope.h"
#include "formats/gguf_split.h"
#include "mrrope/model_file.h"

namespace mrrope {

namespace {

// Where the file ends is not known, and nothing is read there: far enough for any tensor, and no sum overflows.
constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

Result<RopeSpec> gguf_spec(std::span<const std::byte> bytes) {
  Result<GgufFile> file = parse_gguf(bytes, kUnknownSize);
  if (!file) return file.error();
  const GgufModel model{{*std::move(file)}};
  if (const GgufValue* count = model.head().find(formats::kSplitCount);
      count != nullptr && count->number().value_or(2) > 1) {
    return Error{ErrorCode::unsupported,
                 fmt::format("one of {} files; its rotary factors may lie in another", count->display()),
                 std::string(formats::kSplitCount)};
  }
  const Result<formats::GgufRope> rope = formats::read_gguf_rope(model, [&](const GgufModel& m, std::string_view name) {
    return formats::f32_values(m.head(), *m.find_tensor(name), formats::memory_source(bytes));
  });
  if (!rope) return rope.error();
  return formats::rope_spec(*rope);
}

}  // namespace

Result<RopeSpec> rope_spec(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("GGUF")) return gguf_spec(bytes);
  if (text.size() > kMaxHfConfigBytes)
    return Error{ErrorCode::malformed, "no GGUF, and too large to be a config.json", ""};
  const Result<HfConfig> config = HfConfig::parse(text);
  if (!config) return config.error();
  return config->rope_spec();
}

}  // namespace mrrope

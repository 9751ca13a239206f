// SPDX-License-Identifier: MIT
//
// Writes GGUF bytes by hand, lies included: nothing here is shared with the code under test.
#pragma once

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrrope::test {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
inline std::string raw_text(std::string_view text) { return raw(std::uint64_t{text.size()}) + std::string(text); }

struct GgufBuilder {
  std::string magic = "GGUF", version = raw(std::uint32_t{3});
  std::uint64_t alignment = 32;                         // used for layout; the key is the caller's business
  std::optional<std::uint64_t> kv_count, tensor_count;  // lies
  std::optional<std::string> gap;                       // other bytes than zeros before the data
  std::string kvs, infos, data;
  std::uint64_t kv_number = 0, tensor_number = 0;

  GgufBuilder& kv(std::string_view key, std::uint32_t type, const std::string& value) {
    kvs += raw_text(key) + raw(type) + value;
    ++kv_number;
    return *this;
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) { return kv(key, 4, raw(value)); }
  GgufBuilder& text(std::string_view key, std::string_view value) { return kv(key, 8, raw_text(value)); }
  GgufBuilder& info(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                    std::uint64_t offset) {
    infos += raw_text(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t extent : shape) infos += raw(extent);
    infos += raw(type) + raw(offset);
    ++tensor_number;
    return *this;
  }
  // A tensor in its proper place, with `bytes` of recognisable data.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                      std::size_t bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    info(name, shape, type, data.size());
    std::string pattern;  // no power of two, so that a shifted copy differs
    for (std::size_t i = 0; i < 1021; ++i) pattern += static_cast<char>('a' + (tensor_number * 7 + i + i / 26) % 26);
    for (std::size_t left = bytes; left > 0; left -= std::min(left, pattern.size())) data.append(pattern, 0, left);
    return *this;
  }
  [[nodiscard]] std::string header() const {
    std::string out =
        magic + version + raw(tensor_count.value_or(tensor_number)) + raw(kv_count.value_or(kv_number)) + kvs + infos;
    const std::size_t end = (out.size() + alignment - 1) / alignment * alignment;
    if (gap) out += gap->substr(0, end - out.size());
    out.resize(end);
    return out;
  }
  [[nodiscard]] std::string bytes(bool pad_last = true) const {
    std::string out = header() + data;
    if (pad_last) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out;
  }
};

// A small llama with all it needs to look real: 3 tensors of 3 types, keys of several types.
inline GgufBuilder small_model() {
  GgufBuilder b;
  b.text("general.architecture", "llama").text("general.name", "small").u32("llama.context_length", 8192);
  b.kv("llama.rope.freq_base", 6, raw(10000.0F)).u32("llama.block_count", 1);
  b.kv("tokenizer.ggml.tokens", 9,
       raw(std::uint32_t{8}) + raw(std::uint64_t{3}) + raw_text("a") + raw_text("") + raw_text("ccc"));
  b.kv("unknown.vendor.key", 10, raw(std::uint64_t{1} << 40));
  b.tensor("token_embd.weight", {32, 3}, 8, 3 * 34)
      .tensor("blk.0.attn_q.weight", {256}, 12, 144)
      .tensor("output_norm.weight", {9}, 0, 36);
  return b;
}

// A folder that disappears with its content.
class TempFolder {
 public:
  explicit TempFolder(const std::string& parent = std::filesystem::temp_directory_path())
      : path_(parent + "/mrrope-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string write(std::string_view name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
    return found;
  }

 private:
  std::string path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(in ? static_cast<std::size_t>(in.tellg()) : 0, '\0');
  in.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Whether a header in this folder can grow in place: ext4 and xfs can.
inline bool can_insert_ranges(const TempFolder& folder) {
  const std::string probe = folder.write("probe", std::string(8192, 'x'));
  const int descriptor = ::open(probe.c_str(), O_RDWR | O_CLOEXEC);
  const bool can = ::fallocate(descriptor, FALLOC_FL_INSERT_RANGE, 0, 4096) == 0;
  ::close(descriptor);
  ::unlink(probe.c_str());
  return can;
}

}  // namespace mrrope::test

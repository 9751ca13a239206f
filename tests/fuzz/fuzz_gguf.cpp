// SPDX-License-Identifier: MIT
//
// Any bytes are refused or understood; what is understood is encoded back to the same bytes, and can be edited into
// something that is understood again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "mrrope/gguf.h"

namespace {

using namespace mrrope;

void require(bool truth) {
  if (!truth) std::abort();
}

// Accessors must cope with whatever a file has.
void look_at(const GgufFile& file) {
  std::size_t seen = 0;
  for (const GgufEntry& entry : file.entries) {
    seen += entry.value.display().size() + entry.value.numbers().value_or(std::vector<double>{}).size();
    seen += entry.value.text().value_or("").size() + (entry.value.count() ? 1 : 0) + (entry.value.number() ? 1 : 0);
    seen += entry.value.size() > 0 ? 1 : 0;
  }
  require(seen + 1 > 0);
}

// The edited header, written and read: the same again.
void check_edit(const GgufFile& file, const GgufEdits& edits) {
  const Result<GgufFile> now = edited(file, edits);
  if (!now) return;
  const std::string header = encode_gguf_header(*now);
  require(header.size() == now->data_offset);
  const Result<GgufFile> again = parse_gguf(std::as_bytes(std::span(header)), now->file_size);
  require(again.has_value());
  require(*again == *now);
}

void check_edits(const GgufFile& file) {
  GgufEdits keys, tensor, relabel, remove, all;
  keys.set("llama.context_length", GgufValue::u32(32768));
  keys.set("a.new.key", GgufValue::text("value"));
  keys.remove(file.entries.empty() ? "none" : file.entries.front().key);
  check_edit(file, keys);
  tensor.add_tensor("rope_freqs.weight", {1, 2, 3});
  check_edit(file, tensor);
  relabel.architecture = "exaone";
  check_edit(file, relabel);
  if (!file.tensors.empty()) remove.removed_tensors = {file.tensors.back().name};
  check_edit(file, remove);
  all = keys;
  all.architecture = "x";
  all.tensors = tensor.tensors;
  all.removed_tensors = remove.removed_tensors;
  check_edit(file, all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  // Once as a file of this size, once as the front of a large one.
  for (const std::uint64_t file_size : {std::uint64_t{size}, std::uint64_t{1} << 40}) {
    const Result<GgufFile> file = parse_gguf(bytes, file_size);
    if (!file) {
      require(!file.error().message.empty());
      continue;
    }
    const std::string header = encode_gguf_header(*file);
    require(header.size() == file->data_offset && header.size() <= size);
    require(std::string_view(reinterpret_cast<const char*>(data), header.size()) == header);
    look_at(*file);
    check_edits(*file);
  }
  return 0;
}

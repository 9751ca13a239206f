// SPDX-License-Identifier: MIT
#include "formats/gguf_bytes.h"
#include "formats/gguf_layout.h"
#include "mrrope/gguf.h"

namespace mrrope {

std::string encode_gguf_header(const GgufFile& file) {
  using formats::put;
  using formats::put_text;
  std::string out;
  out.reserve(static_cast<std::size_t>(file.data_offset));
  out += "GGUF";
  put(out, file.version);
  put(out, static_cast<std::uint64_t>(file.tensors.size()));
  put(out, static_cast<std::uint64_t>(file.entries.size()));
  for (const GgufEntry& entry : file.entries) {
    put_text(out, entry.key);
    put(out, static_cast<std::uint32_t>(entry.value.type()));
    out += entry.value.bytes();
  }
  for (const GgufTensor& tensor : file.tensors) {
    put_text(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t extent : tensor.shape) put(out, extent);
    put(out, tensor.type);
    put(out, tensor.offset);
  }
  out += file.padding;
  if (out.size() < file.data_offset) out.resize(static_cast<std::size_t>(file.data_offset));
  return out;
}

}  // namespace mrrope

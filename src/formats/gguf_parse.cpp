// SPDX-License-Identifier: MIT
#include "formats/gguf_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/paths.h"
#include "files/file.h"
#include "formats/gguf_bytes.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_types.h"

namespace mrrope::formats {

namespace {

// Least bytes that an entry (length, 1 byte of key, type, 1 byte) and a tensor (length, rank, type, offset) take: what
// a count may be at most in the bytes that are left.
constexpr std::uint64_t kLeastEntry = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8;

void read_preamble(Cursor& cursor, GgufFile& file) {
  cursor.begin("magic");
  const std::string magic = cursor.take(4);
  if (magic != "GGUF") {
    cursor.reject(ErrorCode::malformed,
                  fmt::format("expected \"GGUF\", found \"{}\": this is no GGUF file", printable(magic)));
  }
  cursor.begin("version");
  file.version = cursor.number<std::uint32_t>();
  if (file.version != 0 && (file.version & 0xffffU) == 0) {
    cursor.reject(ErrorCode::unsupported, "a big-endian file; only little-endian ones can be read");
  }
  if (file.version != 2 && file.version != 3) {
    cursor.reject(ErrorCode::unsupported, fmt::format("GGUF version {}; versions 2 and 3 can be read{}", file.version,
                                                      file.version == 1 ? ", and llama.cpp no longer reads 1" : ""));
  }
}

std::uint64_t read_count(Cursor& cursor, const char* what, std::uint64_t limit) {
  cursor.begin(what);
  const auto count = cursor.number<std::uint64_t>();
  if (count > limit)
    cursor.reject(ErrorCode::malformed, fmt::format("found {}, more than the {} we accept", count, limit));
  return count;
}

void require_room(Cursor& cursor, const char* what, std::uint64_t count, std::uint64_t least) {
  cursor.begin(what);
  if (count > cursor.left() / least) {
    cursor.reject(ErrorCode::malformed,
                  fmt::format("found {}, which cannot fit in the {} bytes that are left", count, cursor.left()));
  }
}

// Bytes of the value at the cursor. The cursor comes back to where it was: an array of strings is walked twice, so that
// its memory is taken once and exactly.
std::uint64_t value_length(Cursor& cursor, GgufType type) {
  if (const std::size_t size = scalar_size(type); size > 0) return size;
  const std::uint64_t start = cursor.position();
  if (type == GgufType::string) {
    cursor.skip(cursor.number<std::uint64_t>());
  } else if (type == GgufType::array) {
    const auto element = static_cast<GgufType>(cursor.number<std::uint32_t>());
    const auto count = cursor.number<std::uint64_t>();
    if (element == GgufType::array) {
      cursor.reject(ErrorCode::unsupported, "an array of arrays, which llama.cpp refuses too");
    }
    const std::size_t size = element == GgufType::string ? 8 : scalar_size(element);
    if (size == 0) {
      cursor.reject(ErrorCode::malformed,
                    fmt::format("an array of unknown type {}", static_cast<std::uint32_t>(element)));
    }
    if (count > cursor.left() / size) {
      cursor.reject(ErrorCode::malformed,
                    fmt::format("an array of {} elements of at least {} bytes, but only {} bytes are "
                                "left",
                                count, size, cursor.left()));
    }
    if (element != GgufType::string) {
      cursor.skip(count * size);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) cursor.skip(cursor.number<std::uint64_t>());
    }
  } else {
    cursor.reject(ErrorCode::malformed, fmt::format("a value of unknown type {}", static_cast<std::uint32_t>(type)));
  }
  const std::uint64_t length = cursor.position() - start;
  cursor.seek(start);
  return length;
}

GgufEntry read_entry(Cursor& cursor) {
  GgufEntry entry;
  entry.key = cursor.text(kMaxName);
  if (entry.key.empty()) cursor.reject(ErrorCode::malformed, "an empty key");
  cursor.name(entry.key);
  const auto type = static_cast<GgufType>(cursor.number<std::uint32_t>());
  entry.value = GgufValue(type, cursor.take(value_length(cursor, type)));
  return entry;
}

GgufTensor read_tensor(Cursor& cursor) {
  GgufTensor tensor;
  tensor.name = cursor.text(kMaxName);
  cursor.name(tensor.name);
  const auto rank = cursor.number<std::uint32_t>();
  if (rank > kMaxDimensions) {
    cursor.reject(ErrorCode::malformed, fmt::format("{} dimensions; a tensor has at most {}", rank, kMaxDimensions));
  }
  tensor.shape.reserve(rank);
  for (std::uint32_t i = 0; i < rank; ++i) tensor.shape.push_back(cursor.number<std::uint64_t>());
  tensor.type = cursor.number<std::uint32_t>();
  tensor.offset = cursor.number<std::uint64_t>();
  if (tensor_type(tensor.type) != nullptr) tensor.bytes = size_of(tensor, cursor);
  return tensor;
}

// Sorting, not hashing: a hostile file cannot make it quadratic.
template <class Item>
void refuse_duplicates(const std::vector<Item>& items, std::string Item::*name, const char* what, Cursor& cursor) {
  std::vector<std::string_view> names;
  names.reserve(items.size());
  for (const Item& item : items) names.emplace_back(item.*name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  cursor.begin(what);
  cursor.name(*twice);
  cursor.reject(ErrorCode::malformed, "appears twice");
}

std::uint64_t alignment_of(const GgufFile& file, Cursor& cursor) {
  const GgufValue* value = file.find(kAlignmentKey);
  if (value == nullptr) return kDefaultAlignment;
  cursor.begin("kv");
  cursor.name(kAlignmentKey);
  if (value->type() != GgufType::u32) {
    cursor.reject(ErrorCode::malformed, fmt::format("expected u32, found {}", to_string(value->type())));
  }
  const std::uint64_t alignment = value->count().value_or(0);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kMaxAlignment) {
    cursor.reject(ErrorCode::malformed,
                  fmt::format("expected a power of two up to {}, found {}", kMaxAlignment, alignment));
  }
  return alignment;
}

// Zeros in the files of every known writer; anything else is kept, to be written back.
void read_padding(Cursor& cursor, GgufFile& file) {
  const std::uint64_t end = cursor.position();
  cursor.begin("padding");
  file.data_offset = padded(end, file.alignment);
  if (file.tensors.empty()) file.data_offset = std::min(file.data_offset, file.file_size);  // ggml: needs none then
  std::string padding = cursor.take(file.data_offset - end);
  if (padding.find_first_not_of('\0') != std::string::npos) file.padding = std::move(padding);
}

// `readable`: how many bytes the source has; fewer than the file where it is the front of one in memory.
GgufFile parse(const ByteSource& source, std::uint64_t readable, std::uint64_t file_size, std::uint64_t budget) {
  Cursor cursor(source, readable, budget);
  GgufFile file;
  file.file_size = file_size;
  read_preamble(cursor, file);
  const std::uint64_t tensors = read_count(cursor, "tensor count", kMaxTensors);
  const std::uint64_t entries = read_count(cursor, "kv count", kMaxEntries);

  require_room(cursor, "kv count", entries, kLeastEntry);
  file.entries.reserve(entries);
  for (std::uint64_t i = 0; i < entries; ++i) {
    cursor.begin("kv", i);
    file.entries.push_back(read_entry(cursor));
  }
  refuse_duplicates(file.entries, &GgufEntry::key, "kv", cursor);
  file.alignment = alignment_of(file, cursor);

  require_room(cursor, "tensor count", tensors, kLeastTensor);
  file.tensors.reserve(tensors);
  for (std::uint64_t i = 0; i < tensors; ++i) {
    cursor.begin("tensor", i);
    file.tensors.push_back(read_tensor(cursor));
  }
  refuse_duplicates(file.tensors, &GgufTensor::name, "tensor", cursor);
  read_padding(cursor, file);
  settle_tensors(file, cursor);
  return file;
}

// The public functions' frame: no exception leaves the library.
template <class F>
auto guarded(F&& f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (base::Rejected& rejected) {
    return std::move(rejected.error);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "not enough memory for the header", ""};
  }
}

}  // namespace

ByteSource memory_source(std::span<const std::byte> bytes) {
  return [bytes](std::uint64_t offset, std::span<std::byte> into) -> Result<std::size_t> {
    if (offset >= bytes.size()) return std::size_t{0};
    const std::span<const std::byte> rest = bytes.subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(rest.size(), into.size());
    std::copy_n(rest.begin(), count, into.begin());  // memcpy wants no null, even for nothing
    return count;
  };
}

Result<GgufFile> read_header(const std::string& path, std::uint64_t budget) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  if (const auto ok = check_no_journal(path); !ok) return ok.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  const ByteSource source = [&file](std::uint64_t offset, std::span<std::byte> into) {
    return file->read_at(offset, into);
  };
  Result<GgufFile> parsed = guarded([&] { return parse(source, *size, *size, budget); });
  if (parsed) {
    parsed->path = path;
    return parsed;
  }
  Error error = parsed.error();
  if (error.where != path) error.where = error.where.empty() ? path : path + ": " + error.where;
  return error;
}

Result<std::vector<float>> f32_values(const GgufFile& file, const GgufTensor& tensor, const ByteSource& source) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  const std::string where = (file.path.empty() ? "" : file.path + ": ") + printable(tensor.name);
  if (tensor.type != kF32) return Error{ErrorCode::unsupported, "not an F32 tensor", where};
  if (tensor.bytes > kMaxBytes) {
    return Error{ErrorCode::unsupported, fmt::format("{} bytes; only small tensors are read", tensor.bytes), where};
  }
  std::vector<float> values(static_cast<std::size_t>(tensor.bytes / sizeof(float)));
  const std::uint64_t start = file.data_offset + tensor.offset;
  const Result<std::size_t> count = source(start, std::as_writable_bytes(std::span(values)));
  if (!count) return count.error();
  if (*count == tensor.bytes) return values;
  return Error{ErrorCode::malformed,
               fmt::format("its values are the bytes {} to {}, which are not there", start, start + tensor.bytes - 1),
               where};
}

bool well_formed(const GgufValue& value) {
  const std::string& bytes = value.bytes();
  const Result<bool> complete = guarded([&] {
    Cursor cursor(memory_source(base::bytes_of(bytes)), bytes.size(), bytes.size());
    return value_length(cursor, value.type()) == bytes.size();
  });
  return complete && *complete;
}

std::string journal_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(base::to_path(path), failed);
  return (failed ? path : base::to_text(real)) + ".mrrope-journal";
}

Result<void> check_no_journal(const std::string& path) {
  const std::string journal = journal_path(path);
  if (!base::is_taken(journal)) return {};
  return Error{
      ErrorCode::inconsistent,
      fmt::format("a change in place of this file was interrupted, or is under way. Its old bytes are in {}; undo it",
                  journal),
      path, "undo"};
}

}  // namespace mrrope::formats

namespace mrrope {

Result<GgufFile> read_gguf_file(const std::string& path) { return formats::read_header(path, kMaxGgufHeader); }

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::uint64_t file_size) {
  const std::uint64_t readable = std::min<std::uint64_t>(bytes.size(), file_size);
  return formats::guarded(
      [&] { return formats::parse(formats::memory_source(bytes), readable, file_size, kMaxGgufHeader); });
}

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const GgufEntry& e) { return e.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const GgufTensor& t) { return t.name == name; });
  return tensor == tensors.end() ? nullptr : &*tensor;
}

}  // namespace mrrope

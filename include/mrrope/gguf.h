// SPDX-License-Identifier: MIT
//
// GGUF files: read the header of a model of any size, change it, write the result. Tensor data is never loaded.
//
//   Result<GgufModel> model = read_gguf("model.gguf");         // also the first of several shards
//   model->head().find("llama.context_length")->number();      // 8192
//   GgufEdits edits;
//   edits.set("llama.context_length", GgufValue::u32(32768));
//   edits.add_tensor("rope_freqs.weight", factors);
//   write_gguf(*model, edits, "longer.gguf");
//
// Every byte of a file is hostile until checked: counts, lengths, offsets and types are bounded before memory is taken,
// and a header larger than kMaxGgufHeader is refused. What is not understood (unknown keys, unknown tensor types) is
// kept as it is: reading and writing without an edit gives the same bytes. Versions 2 and 3, little-endian. Format:
// ggml/include/gguf.h of llama.cpp v0.5.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope {

// ---- Values --------------------------------------------------------------------------------------------------------

enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
const char* to_string(GgufType type) noexcept;

// A metadata value, kept in the encoding of the file, so that what we do not touch is written back byte for byte.
class GgufValue {
 public:
  GgufValue() = default;
  GgufValue(GgufType type, std::string bytes) : type_(type), bytes_(std::move(bytes)) {}

  static GgufValue u32(std::uint32_t value);
  static GgufValue u64(std::uint64_t value);
  static GgufValue f32(float value);
  static GgufValue boolean(bool value);
  static GgufValue text(std::string_view value);
  static GgufValue i32_array(std::span<const std::int32_t> values);

  [[nodiscard]] GgufType type() const noexcept { return type_; }
  // The encoding after the type field: a string with its length, an array with its element type and count.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

  // Any integer, float or boolean scalar as a number; nothing for a string or an array.
  [[nodiscard]] std::optional<double> number() const noexcept;
  // Any integer scalar that is not negative.
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept;
  [[nodiscard]] std::optional<std::string_view> text() const noexcept;
  // The elements of an array of numbers or booleans; nothing for anything else.
  [[nodiscard]] std::optional<std::vector<double>> numbers() const;
  // Elements of an array of any type; 1 for a scalar.
  [[nodiscard]] std::uint64_t size() const noexcept;

  // For people, shortened: 8192, "llama", [151936 strings].
  [[nodiscard]] std::string display() const;

  bool operator==(const GgufValue&) const = default;

 private:
  GgufType type_ = GgufType::u32;
  std::string bytes_;
};

// ---- One file ------------------------------------------------------------------------------------------------------

struct GgufEntry {
  std::string key;
  GgufValue value;
  bool operator==(const GgufEntry&) const = default;
};

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // ne[0] first
  std::uint32_t type = 0;            // ggml_type; may be one we do not know
  std::uint64_t offset = 0;          // from the start of the data section
  std::uint64_t bytes = 0;           // without padding; of an unknown type: up to the next tensor
  bool operator==(const GgufTensor&) const = default;
};

struct GgufFile {
  std::string path;
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::vector<GgufEntry> entries;   // in file order
  std::vector<GgufTensor> tensors;  // in file order
  std::string padding;              // between the header and the data, if it is not the usual zeros
  std::uint64_t data_offset = 0;    // where tensor data begins; without tensors: where the header ends
  std::uint64_t file_size = 0;

  [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept;
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept;
  bool operator==(const GgufFile&) const = default;
};

inline constexpr std::uint64_t kMaxGgufHeader = std::uint64_t{128} << 20;

// The header of one file. Errors name the part ("kv 17 (llama.rope.scaling.factor)") and the offset.
Result<GgufFile> read_gguf_file(const std::string& path);

// The same from memory: `bytes` are the first bytes of a file of `file_size` bytes, at least its header.
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::uint64_t file_size);

// The header as bytes, padding included: exactly the file's own first data_offset bytes for an unchanged GgufFile.
std::string encode_gguf_header(const GgufFile& file);

// ---- A model: one file, or all shards of a split one ---------------------------------------------------------------

struct GgufModel {
  std::vector<GgufFile> shards;  // at least one; the first carries the metadata

  [[nodiscard]] const GgufFile& head() const noexcept { return shards.front(); }
  [[nodiscard]] std::string architecture() const;                               // general.architecture, may be empty
  [[nodiscard]] const GgufValue* find(std::string_view suffix) const noexcept;  // "<architecture>." + suffix
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept;
};

// `path` is a single file or the first shard (…-00001-of-000NN.gguf); the others are found beside it, and every one
// must be there and agree on split.count and split.no.
Result<GgufModel> read_gguf(const std::string& path);

// The values of a small F32 tensor such as rope_freqs.weight; refuses more than 1 MiB and other types.
Result<std::vector<float>> read_f32_tensor(const GgufModel& model, std::string_view name);

// ---- Edits ---------------------------------------------------------------------------------------------------------

// What will change, old -> new: printable before anything is written, and the input of every writer.
struct GgufEdits {
  struct Change {
    std::string key;
    std::optional<GgufValue> value;  // nothing: the key is removed
    bool operator==(const Change&) const = default;
  };
  struct NewTensor {
    std::string name;  // replaces a tensor of the same name, type F32 and size in place, else is appended
    std::vector<float> values;
    bool operator==(const NewTensor&) const = default;
  };
  std::vector<Change> changes;
  std::vector<NewTensor> tensors;
  std::vector<std::string> removed_tensors;  // only from the end of the tensor list: what an earlier edit appended
  std::optional<std::string> architecture;   // relabel: general.architecture and the prefix of all "<old>." keys

  void set(std::string key, GgufValue value) { changes.push_back({std::move(key), std::move(value)}); }
  void remove(std::string key) { changes.push_back({std::move(key), std::nullopt}); }
  void add_tensor(std::string name, std::vector<float> values) {
    tensors.push_back({std::move(name), std::move(values)});
  }
  [[nodiscard]] bool empty() const {
    return changes.empty() && tensors.empty() && removed_tensors.empty() && !architecture;
  }
  bool operator==(const GgufEdits&) const = default;
};

// The first shard after the edits. Keys of `changes` are meant after relabelling. Existing keys keep their place, new
// ones follow at the end. Errors: a tensor that exists with another size or type.
Result<GgufFile> edited(const GgufFile& file, const GgufEdits& edits);

// ---- Writing -------------------------------------------------------------------------------------------------------

struct WriteOptions {
  bool overwrite = false;  // replace an existing target
  // Called now and then with bytes done and in all; return false to stop. The target is then left as it was.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};
};

// A copy of the model with the edits. The data is cloned (FICLONERANGE) where the file system can, else copied by
// copy_file_range, else read and written. Written beside the target, synced and renamed: the target is never partial,
// and has no more permissions than the source. A source that is changed meanwhile is an Error.
// Of a split model only the first shard is rewritten, and the others are cloned or copied beside it; `target` must then
// end in -00001-of-000NN.gguf. The first shard gets its name last. A split model that is there is not replaced, even
// with `overwrite`, which replaces what an interrupted copy left: shards without a first one.
Result<void> write_gguf(const GgufModel& model, const GgufEdits& edits, const std::string& target,
                        const WriteOptions& options = {});

// A second shard for an untouched model loaded as "shard 1 of 2" (docs/gguf.md): the tensors of `edits`, and the keys
// that it sets, which engines want as flags and only mrrope reads here (Sidecar, model_file.h). Its key mrrope.version
// says who wrote it. Errors: no tensors.
Result<void> write_gguf_sidecar(const GgufEdits& edits, const std::string& target, const WriteOptions& options = {});

struct InPlaceOptions {
  // Also where whether others have the file open cannot be seen, and where it has several names (hard links).
  bool force = false;
};

// Changes the file itself. Values of the same size are overwritten; a header that grows is moved by inserting a range
// at the front (ext4, xfs), the data blocks stay where they are. A journal beside the file (path + ".mrrope-journal")
// holds the old header until the change is complete: after a crash recover_gguf puts the old bytes back. The inserted
// range is a multiple of the file system's block, so the header is filled up with a key "mrrope.padding"; an edit that
// removes all other mrrope.* keys and the appended tensors also takes the range and the padding out again, which gives
// the file its old bytes back. Errors: unsupported, where the file system cannot insert a range; a file that another
// program has open, which would go on with shifted weights.
Result<void> edit_gguf_in_place(const GgufModel& model, const GgufEdits& edits, const InPlaceOptions& options = {});

// True if a change in place was interrupted and has now been undone; false if there was nothing to do. A copy of the
// file and its journal will do. Errors, with both files as they were: a journal that belongs neither to the caller nor
// to the owner of the file, that is damaged, or that is of another file or of another state of this one.
Result<bool> recover_gguf(const std::string& path);

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "files/file.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_recover.h"
#include "formats/gguf_rope.h"
#include "formats/gguf_sidecar.h"
#include "mrrope/hf_folder.h"

namespace mrrope {

namespace fs = std::filesystem;

namespace {

// general.file_type, as llama.cpp's llama_ftype names it; the common ones.
constexpr std::array<std::pair<int, const char*>, 26> kFileTypes = {
    {{0, "F32"},     {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},    {7, "Q8_0"},     {8, "Q5_0"},    {9, "Q5_1"},
     {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},  {13, "Q3_K_L"}, {14, "Q4_K_S"},  {15, "Q4_K_M"}, {16, "Q5_K_S"},
     {17, "Q5_K_M"}, {18, "Q6_K"},   {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {23, "IQ3_XXS"}, {24, "IQ1_S"},  {25, "IQ4_NL"},
     {26, "IQ3_S"},  {30, "IQ4_XS"}, {31, "IQ1_M"},   {32, "BF16"},   {38, "MXFP4"}}};

Result<std::string> read_config(const std::string& path) {
  Result<std::string> text = base::read_file(path, kMaxHfConfigBytes);
  if (!text && text.error().code == ErrorCode::malformed) {
    return Error{ErrorCode::malformed, "too large to be a config.json or a plan", path};
  }
  return text;
}

// What a folder without config.json has instead.
Error no_config(const std::string& folder) {
  std::vector<std::string> ggufs;
  std::error_code status;
  for (auto entry = fs::directory_iterator(base::to_path(folder), status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    if (entry->path().extension() == ".gguf") ggufs.push_back(base::to_text(entry->path().filename()));
  }
  if (ggufs.empty()) return {ErrorCode::io, "no config.json in this folder", folder};
  const std::string first = *std::min_element(ggufs.begin(), ggufs.end());
  const std::string others = ggufs.size() > 1 ? fmt::format(" and {} more", ggufs.size() - 1) : "";
  return {ErrorCode::io, fmt::format("no config.json in this folder, but {}{}: name the .gguf itself", first, others),
          folder};
}

// What people hold instead of a model. `start`: the first bytes of a file that is no GGUF.
Result<void> impostor(const std::string& file, std::string_view start) {
  if (start.starts_with("version https://git-lfs")) {
    return Error{ErrorCode::malformed, "a Git LFS pointer, whose content was not fetched (git lfs pull)", file};
  }
  const bool gguf = base::to_path(file).extension() == ".gguf";
  if (start.empty())
    return Error{ErrorCode::malformed, gguf ? "no GGUF: the file is empty" : "the file is empty", file};
  if (gguf) return Error{ErrorCode::malformed, "no GGUF: the file does not begin with those four letters", file};
  return {};
}

Result<HfConfig> parse_config(const std::string& file) {
  const Result<std::string> text = read_config(file);
  if (!text) return text.error();
  Result<HfConfig> config = HfConfig::parse(*text);
  if (!config) return Error{config.error().code, to_string(config.error()), file};
  return config;
}

// 0 for a NaN, too.
int whole(std::optional<double> value) { return value && *value > 0 ? static_cast<int>(std::min(*value, 1e9)) : 0; }

int largest(const GgufModel& model, std::string_view key) {
  const GgufValue* value = model.find(key);
  if (value == nullptr) return 0;
  if (const auto list = value->numbers())
    return list->empty() ? 0 : whole(*std::max_element(list->begin(), list->end()));
  return whole(value->number());
}

ModelFacts gguf_facts(const GgufModel& model) {
  ModelFacts facts;
  const GgufFile& head = model.head();
  facts.name = formats::name_of(model);
  facts.architecture = base::printable(model.architecture());
  if (const GgufValue* type = head.find("general.file_type")) {
    const int code = whole(type->number());
    for (const auto& [known, name] : kFileTypes) {
      if (known == code) facts.quantization = name;
    }
  }
  for (const GgufFile& shard : model.shards) {
    facts.bytes += shard.file_size;
    for (const GgufTensor& tensor : shard.tensors) {
      std::uint64_t elements = 1;  // parse_gguf has checked that the product does not overflow
      for (const std::uint64_t n : tensor.shape) elements *= n;
      facts.parameters += elements;
    }
  }
  facts.layers = largest(model, "block_count");
  facts.heads = largest(model, "attention.head_count");
  facts.kv_heads = largest(model, "attention.head_count_kv");
  if (facts.kv_heads == 0) facts.kv_heads = facts.heads;
  facts.head_dim = largest(model, "attention.key_length");
  if (facts.head_dim == 0 && facts.heads > 0) facts.head_dim = largest(model, "embedding_length") / facts.heads;
  facts.sliding_window = largest(model, "attention.sliding_window");
  return facts;
}

ModelFacts hf_facts(const HfConfig& config) {
  ModelFacts facts;
  facts.architecture = config.model_type();
  const Result<HfFacts> found = config.facts();
  if (!found) return facts;
  facts.layers = found->layers;
  facts.heads = found->heads;
  facts.kv_heads = found->kv_heads;
  facts.head_dim = found->head_dim;
  facts.sliding_window = static_cast<int>(std::clamp<std::int64_t>(found->sliding_window, 0, 1 << 30));
  return facts;
}

// A sidecar by its folder or its second shard, whose first one leads to the model.
Result<std::string> resolved(const std::string& path) {
  std::error_code unseen;
  if (fs::exists(base::to_path(path + "/config.json"), unseen)) return path;
  const Result<std::optional<std::string>> first = formats::first_shard_of(path);
  if (!first) return first.error();
  if (!*first) return path;
  if (fs::exists(base::to_path(**first), unseen)) return **first;
  const fs::path leads = fs::read_symlink(base::to_path(**first), unseen);
  return Error{ErrorCode::io,
               unseen ? "a sidecar without its first shard, the link to the model; write it anew"
                      : fmt::format("a sidecar whose model is gone: its link leads to {}; write it anew",
                                    base::printable(base::to_text(leads), base::to_text(leads).size())),
               **first};
}

Result<ModelFile> read_gguf_model(const std::string& file) {
  Result<GgufModel> model = read_gguf(file);
  if (!model) return model.error();
  Result<std::optional<Sidecar>> sidecar = formats::sidecar_of(*model);
  if (!sidecar) return sidecar.error();
  return ModelFile{.path = file, .content = *std::move(model), .sidecar = *std::move(sidecar)};
}

Result<ModelFile> read_once(const std::string& given) {
  const Result<std::string> found = resolved(given);
  if (!found) return found.error();
  const std::string& path = *found;
  std::error_code unseen;
  const fs::file_status status = fs::status(base::to_path(path), unseen);
  if (unseen) return Error{ErrorCode::io, unseen.message(), path};
  const bool folder = fs::is_directory(status);
  const std::string file = folder ? path + "/config.json" : path;
  // Before a look at its bytes: half-way between old and new it does not even begin as a GGUF
  if (!folder) {
    if (const auto ok = formats::check_no_journal(file); !ok) return ok.error();
  }
  if (folder && !fs::exists(base::to_path(file), unseen) && !unseen) return no_config(path);
  std::string start(32, '\0');
  {
    const Result<base::File> opened = base::File::open(file, base::File::Access::read);
    if (!opened) return opened.error();
    const Result<std::size_t> count = opened->read_at(0, base::bytes_of(start));
    if (!count) return count.error();
    start.resize(*count);
  }
  if (start.starts_with("GGUF")) return read_gguf_model(file);
  if (const auto ok = impostor(file, start); !ok) return ok.error();
  Result<HfConfig> config = parse_config(file);
  if (!config) return config.error();
  ModelFile model{file, *std::move(config)};
  const fs::path original = base::to_path(file).replace_filename(kOriginalConfig);
  if (base::to_path(file).filename() != "config.json" || !fs::exists(original, unseen)) return model;
  Result<HfConfig> first = parse_config(base::to_text(original));
  // Another process has just taken its change back, and what was read of config.json is from before
  if (!first && !fs::exists(original, unseen)) return read_once(path);
  if (!first) return first.error();
  // Equal: a change that ended between its two steps
  if (first->text() != model.hf()->text()) model.original = *std::move(first);
  return model;
}

}  // namespace

Result<ModelFile> read_model(const std::string& path) {
  Result<ModelFile> model = read_once(path);
  // Half of a GGUF may be from before a change in place and half from after; then a process is at it, or was until a
  // moment ago. A config.json is only ever replaced as a whole.
  std::error_code unseen;
  if (fs::is_directory(base::to_path(path), unseen) || base::to_path(path).extension() == ".json") return model;
  for (int looks = 2; !model && looks > 0; --looks) {
    if (const auto ok = formats::check_settled(path); !ok) return ok.error();
    model = read_once(path);
  }
  return model;
}

bool was_extended(const ModelFile& model) {
  if (model.sidecar) return true;
  if (const GgufModel* gguf = model.gguf()) return gguf->head().find("mrrope.undo") != nullptr;
  return model.original.has_value();
}

namespace {

Result<RopeSpec> declared_spec(const ModelFile& model) {
  if (model.original) return model.original->rope_spec();
  if (const HfConfig* config = model.hf()) return config->rope_spec();
  Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  if (!rope) return rope.error();
  return formats::rope_spec(*rope);
}

}  // namespace

Result<RopeSpec> rope_spec(const ModelFile& model) {
  Result<RopeSpec> spec = declared_spec(model);
  if (!spec || !model.context_trained) return spec;
  spec->context_trained = *model.context_trained;
  if (const auto ok = check_spec(*spec); !ok) return ok.error();
  return spec;
}

ModelFacts facts_of(const ModelFile& model) {
  if (const GgufModel* gguf = model.gguf()) return gguf_facts(*gguf);
  return hf_facts(*model.hf());
}

}  // namespace mrrope

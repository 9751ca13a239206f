// SPDX-License-Identifier: MIT
//
// An untouched model as "shard 1 of 2", by a link, and its new tensors as shard 2.
//
// The names of both are made from the model's, nobody has typed them: whoever says -f cannot know what lies there. So
// -f replaces a shard that mrrope wrote, keeps a link that leads to the model already, and refuses everything else.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "files/file.h"
#include "formats/gguf_write.h"
#include "mrrope/units.h"
#include "targets/extend_formats.h"

namespace mrrope::targets {

namespace {

namespace fs = std::filesystem;

// The edited keys as one --override-kv; the file itself stays as it is.
std::string overrides_of(const GgufModel& model, const GgufEdits& edits) {
  std::string text = fmt::format("split.count=int:2,split.no=int:0,split.tensors.count=int:{}",
                                 model.head().tensors.size() + edits.tensors.size());
  for (const auto& change : edits.changes) {
    if (!change.value) continue;
    const double number = change.value->number().value_or(0);
    if (const auto string = change.value->text()) text += fmt::format(",{}=str:{}", change.key, *string);
    else if (change.value->type() == GgufType::f32)
      text += fmt::format(",{}=float:{}", change.key, format_number(number));
    else text += fmt::format(",{}=int:{:.0f}", change.key, number);
  }
  return text;
}

Result<void> check_fits(const GgufModel& gguf, const Delivery& delivery) {
  if (gguf.shards.size() > 1 || delivery.gguf.architecture || delivery.gguf.tensors.empty()) {
    return Error{ErrorCode::unsupported,
                 "a sidecar fits a single file whose architecture stays and that only gains tensors; use a copy", "",
                 "sidecar"};
  }
  for (const auto& tensor : delivery.gguf.tensors) {
    if (gguf.find_tensor(tensor.name) != nullptr) {
      return Error{ErrorCode::unsupported,
                   "the file already has " + tensor.name + "; change it in place, or write a copy", "", "sidecar"};
    }
  }
  return {};
}

fs::path default_folder(const fs::path& model) { return model.parent_path() / (model.stem().string() + "-mrrope"); }

struct Shards {
  fs::path first;
  fs::path second;
};
Shards shards_in(const fs::path& folder, const fs::path& model) {
  const std::string stem = model.stem().string();
  return {folder / (stem + "-00001-of-00002.gguf"), folder / (stem + "-00002-of-00002.gguf")};
}

Error in_the_way(const fs::path& path, const char* what) {
  return {ErrorCode::inconsistent,
          std::string("is in the way of the sidecar, and ") + what +
              ": it is not replaced. Name another folder (-o), or move it away",
          path.string()};
}

bool is_there(const fs::path& path) {
  std::error_code status;
  return fs::symlink_status(path, status).type() != fs::file_type::not_found;
}

// Whether the name of the link can be had: true if the link is there already.
Result<bool> check_link(const fs::path& link, const ModelFile& model) {
  if (!is_there(link)) return false;
  const bool same = base::identity_of(link.string()) == base::identity_of(model.path);
  std::error_code status;
  if (!fs::is_symlink(link, status)) return in_the_way(link, same ? "is the model itself" : "no link of ours");
  if (!same) return in_the_way(link, "leads to another file");
  return true;
}

// Whether the name of the shard can be had.
Result<void> check_shard(const fs::path& shard, const ModelFile& model, bool overwrite) {
  if (!is_there(shard)) return {};
  if (base::identity_of(shard.string()) == base::identity_of(model.path)) {
    return in_the_way(shard, "is the model itself");
  }
  std::error_code status;
  if (fs::is_symlink(shard, status) || !formats::is_sidecar(shard.string())) {
    return in_the_way(shard, "was not written by mrrope");
  }
  return base::check_free(shard.string(), overwrite);
}

// The link first: alone it is in nobody's way, and the next attempt takes it as it is. What fails leaves nothing
// behind.
Result<void> write_files(const ModelFile& model, const fs::path& source, const fs::path& folder, bool linked,
                         std::span<const GgufEdits::NewTensor> tensors, bool overwrite) {
  const auto [first, second] = shards_in(folder, source);
  std::error_code status, ignored;
  const bool made = fs::create_directories(folder, status);
  if (status) return Error{ErrorCode::io, status.message(), folder.string()};
  if (!linked) fs::create_symlink(source, first, status);
  Result<void> written;
  if (status == std::errc::file_exists) {  // by another process, meanwhile
    if (const Result<bool> same = check_link(first, model); !same) written = same.error();
  } else if (status) {
    written = Error{ErrorCode::io, status.message(), first.string()};
  }
  if (written) written = write_gguf_sidecar(tensors, second.string(), {.overwrite = overwrite});
  if (written) return {};
  if (!linked && !status && !is_there(second)) fs::remove(first, ignored);
  if (made) fs::remove(folder, ignored);  // only if it is empty
  return written;
}

}  // namespace

Result<void> check_no_sidecar(const ModelFile& model, const ExtendOptions& options) {
  if (options.overwrite) return {};
  std::error_code status;
  for (const fs::path& path : {fs::absolute(model.path, status), fs::canonical(model.path, status)}) {
    for (const fs::path& folder : {default_folder(path), path.parent_path()}) {
      const auto [first, second] = shards_in(folder, path);
      if (base::identity_of(first.string()) != base::identity_of(model.path)) continue;
      if (!formats::is_sidecar(second.string())) continue;
      return Error{
          ErrorCode::inconsistent,
          "a sidecar refers to this file (" + second.string() +
              ") and would not fit it once it is changed. Delete the sidecar; or, if that is meant, change the "
              "file with -f",
          model.path};
    }
  }
  return {};
}

Result<Extension> write_sidecar(const ModelFile& model, const Plan& plan, Delivery delivery,
                                const ExtendOptions& options) {
  const GgufModel& gguf = *model.gguf();
  if (const auto ok = check_fits(gguf, delivery); !ok) return ok.error();
  std::error_code status;
  const fs::path source = fs::absolute(model.path, status);
  if (status) return Error{ErrorCode::io, status.message(), model.path};
  const fs::path folder = options.output.empty() ? default_folder(source) : fs::path(options.output);
  const auto [first, second] = shards_in(folder, source);
  const Result<bool> linked = check_link(first, model);
  if (!linked) return linked.error();
  if (const auto ok = check_shard(second, model, options.overwrite); !ok) return ok.error();
  if (!options.dry_run) {
    if (const auto ok = write_files(model, source, folder, *linked, delivery.gguf.tensors, options.overwrite); !ok)
      return ok.error();
  }
  delivery.commands = {fmt::format("llama-server -m {{}} -c {} --override-kv {}", plan.context_target,
                                   overrides_of(gguf, delivery.gguf))};
  Extension out = described(delivery, plan, first.string());
  out.changes = rows_of(gguf, delivery.gguf);
  out.written = second.string();
  return out;
}

}  // namespace mrrope::targets

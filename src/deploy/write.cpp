// SPDX-License-Identifier: MIT
//
// A ladder's folder. ladder.json comes first: what was interrupted can be written again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "deploy/parts.h"
#include "files/file.h"
#include "files/in_place.h"
#include "files/links.h"
#include "files/output_file.h"
#include "mrrope/extend.h"

namespace mrrope {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLadderFile = "ladder.json";

// Every file of a deployment says so in its first lines.
bool is_ours(std::string_view start) {
  constexpr std::array<std::string_view, 4> kMarks = {"mrrope ladder", "mrrope.plan/1", "mrrope.ladder/1",
                                                      "lowest rung of a ladder"};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return start.find(mark) != std::string_view::npos; });
}

// The rungs of the ladder that is there; none in a new folder.
Result<std::vector<Rung>> earlier_rungs(const fs::path& folder) {
  std::error_code status;
  if (fs::is_empty(folder, status)) return std::vector<Rung>();
  const Result<std::string> text = base::read_file(base::to_text(folder / kLadderFile), std::uint64_t{64} << 20U);
  if (text && is_ours(std::string_view(*text).substr(0, base::kOutputStart))) {
    Result<Ladder> ladder = ladder_from_json(*text);  // half of one was interrupted
    return ladder ? std::move(ladder->rungs) : std::vector<Rung>();
  }
  return Error{ErrorCode::invalid_argument,
               "is not empty and no folder of mrrope ladder: nothing in it is touched. Name a new one",
               base::to_text(folder), "output"};
}

Result<void> write_one(const fs::path& folder, const DeployedFile& file) {
  const fs::path path = folder / base::to_path(file.path);
  std::error_code status;
  fs::create_directories(path.parent_path(), status);
  if (status) return Error{ErrorCode::io, status.message(), base::to_text(path.parent_path())};
  const base::OutputRule rule{.ours = is_ours};
  if (!file.executable) return base::write_output(base::to_text(path), file.text, rule);
  const Result<bool> replaced = base::may_replace(base::to_text(path), rule);
  if (!replaced) return replaced.error();
  Result<base::PendingFile> pending = base::PendingFile::create(base::to_text(path), *replaced);
  if (!pending) return pending.error();
  pending->make_executable();
  if (const auto ok = pending->file().write_at(0, base::bytes_of(file.text)); !ok) return ok.error();
  return pending->commit();
}

// A link of ours is renewed, a file is left alone.
Result<void> link(const std::string& model, const fs::path& name) {
  const std::string link = base::to_text(name);
  if (base::is_taken(link) && base::identity_of(link) == base::identity_of(model) && base::is_added_link(link))
    return {};
  if (base::is_taken(link)) {
    if (!base::is_added_link(link)) {
      return Error{ErrorCode::inconsistent, "is in the way of a link to the model, and stays", link};
    }
    if (const auto ok = base::remove_file(link); !ok) return ok.error();
  }
  const Result<std::string> way = base::relative_link(model, base::to_text(name.parent_path()));
  if (!way) return way.error();
  return base::add_link(*way, link);
}

// Links to the model under a name of ours, and a sidecar for each rung that has one.
Result<void> add_gguf(const Deployment& deployment, const Ladder& ladder, const ModelFile& model,
                      const fs::path& folder, std::vector<std::string>& written) {
  const std::vector<GgufFile>& shards = model.gguf()->shards;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1
                                 ? "llama.cpp/model.gguf"
                                 : fmt::format("llama.cpp/model-{:05}-of-{:05}.gguf", i + 1, shards.size());
    if (const auto ok = link(shards[i].path, folder / base::to_path(name)); !ok) return ok.error();
    written.push_back(name);
  }
  for (std::size_t i = 0; i < deployment.rungs.size(); ++i) {
    if (deployment.rungs[i].serving != Serving::sidecar) continue;
    Result<ModelFile> linked = read_model(base::to_text(folder / "llama.cpp/model.gguf"));
    if (!linked) return linked.error();
    linked->context_trained = model.context_trained;
    const Rung& rung = ladder.rungs[i];
    const Result<Extension> done =
        extend_model(*linked, rung.plan,
                     {.engine = "llama.cpp",
                      .output = base::to_text(folder / "llama.cpp" / base::to_path(rung.name)),
                      .sidecar = true,
                      .overwrite = true});
    if (!done) return done.error();
    written.push_back(fmt::format("llama.cpp/{}/model-00002-of-00002.gguf", rung.name));
  }
  return {};
}

std::vector<std::string> left_of(const std::vector<Rung>& earlier, const Deployment& deployment, const Ladder& ladder,
                                 const fs::path& folder) {
  std::vector<std::string> left;
  for (const Rung& old : earlier) {
    if (std::any_of(ladder.rungs.begin(), ladder.rungs.end(), [&](const Rung& now) { return now.name == old.name; })) {
      continue;
    }
    for (const std::string& path : {fmt::format("plans/{}.json", old.name), fmt::format("llama.cpp/{}", old.name),
                                    fmt::format("vllm/{}-{}.service", deployment.name, old.name),
                                    fmt::format("sglang/{}-{}.service", deployment.name, old.name)}) {
      if (base::is_taken(base::to_text(folder / base::to_path(path)))) left.push_back(path);
    }
  }
  return left;
}

}  // namespace

Result<WrittenDeployment> write_deployment(const Deployment& deployment, const Ladder& ladder, const ModelFile& model,
                                           const std::string& folder) {
  const fs::path where = base::to_path(folder);
  std::error_code status;
  fs::create_directories(where, status);
  if (status) return base::os_error("make the folder", folder, status.value());
  const Result<base::File> lock = base::lock_folder(folder);  // two ladders at once would leave parts of both
  if (!lock) return lock.error();
  const Result<std::vector<Rung>> earlier = earlier_rungs(where);
  if (!earlier) return earlier.error();
  // Nothing is written before all names are known to be free
  const base::OutputRule rule{.ours = is_ours};
  for (const DeployedFile& file : deployment.files) {
    if (const auto ok = base::check_no_links(folder, file.path); !ok) return ok.error();
    if (const auto ok = base::may_replace(base::to_text(where / base::to_path(file.path)), rule); !ok)
      return ok.error();
  }
  for (const Rung& rung : ladder.rungs) {  // their sidecars
    if (const auto ok = base::check_no_links(folder, "llama.cpp/" + rung.name); !ok) return ok.error();
  }
  WrittenDeployment written{.files = {kLadderFile}, .left = left_of(*earlier, deployment, ladder, where)};
  if (const auto ok = write_one(where, {.path = kLadderFile, .text = to_json(ladder)}); !ok) return ok.error();
  for (const DeployedFile& file : deployment.files) {
    if (const auto ok = write_one(where, file); !ok) return ok.error();
    written.files.push_back(file.path);
  }
  if (model.gguf() != nullptr) {
    if (const auto ok = add_gguf(deployment, ladder, model, where, written.files); !ok) return ok.error();
  }
  return written;
}

}  // namespace mrrope

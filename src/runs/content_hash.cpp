// SPDX-License-Identifier: MIT
#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "files/file.h"
#include "mrrope/records.h"
#include "runs/hasher.h"

namespace mrrope::eval {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kWhole = 1024 * kMiB;
constexpr std::uint64_t kEnds = 64 * kMiB;
constexpr std::uint64_t kPieces = 64;

std::string hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::string content_hash(std::string_view bytes) { return hex(XXH3_128bits(bytes.data(), bytes.size())); }

struct Hasher::State {
  XXH3_state_t state;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->state); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
void Hasher::add(std::string_view bytes) { XXH3_128bits_update(&state_->state, bytes.data(), bytes.size()); }
std::string Hasher::digest() const { return hex(XXH3_128bits_digest(&state_->state)); }

std::string rotation_hash(std::span<const double> inv_freq, double attention_scale) {
  std::vector<double> table(inv_freq.begin(), inv_freq.end());
  table.push_back(attention_scale);
  return fmt::format("{:016x}", XXH3_64bits(table.data(), table.size() * sizeof(double)));
}

Result<std::string> content_hash_of_file(const std::string& path) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  XXH3_128bits_update(state.get(), &*size, sizeof *size);
  std::vector<std::byte> buffer(4 * kMiB);
  const auto take = [&](std::uint64_t from, std::uint64_t count) -> Result<void> {
    for (std::uint64_t done = 0; done < count;) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), count - done));
      if (const auto ok = file->read_all_at(from + done, std::span(buffer).first(part)); !ok) return ok.error();
      XXH3_128bits_update(state.get(), buffer.data(), part);
      done += part;
    }
    return {};
  };
  Result<void> read;
  if (*size <= kWhole) {
    read = take(0, *size);
  } else {
    read = take(0, kEnds);
    const std::uint64_t middle = *size - 2 * kEnds;
    for (std::uint64_t i = 0; i < kPieces && read; ++i) read = take(kEnds + middle / kPieces * i, kMiB);
    if (read) read = take(*size - kEnds, kEnds);
  }
  if (!read) return read.error();
  return hex(XXH3_128bits_digest(state.get()));
}

}  // namespace mrrope::eval

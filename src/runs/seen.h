// SPDX-License-Identifier: MIT
//
// What was seen before, by hash, in little more memory than the hashes themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mrrope::eval {

// Slot: `hash`, evenly spread, 0 for none; same(other), whether both stand for one thing. One array, three quarters
// full at most: 11 to 21 bytes for each Slot of 8, and half as much again for the moment in which it grows.
template <class Slot>
class Seen {
 public:
  // The one that was there; null: it is now. Domain: slot.hash is not 0.
  const Slot* find_or_add(const Slot& slot) {
    if (4 * (count_ + 1) > 3 * slots_.size()) grow();
    Slot& place = place_of(slot);
    if (place.hash != 0) return &place;
    place = slot;
    ++count_;
    return nullptr;
  }

 private:
  Slot& place_of(const Slot& slot) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = slot.hash & mask;
    while (slots_[i].hash != 0 && !slots_[i].same(slot)) i = (i + 1) & mask;
    return slots_[i];
  }

  void grow() {
    constexpr std::size_t kFirst = 1024;
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kFirst : 2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.hash != 0) place_of(slot) = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them
  std::size_t count_ = 0;
};

// Of 64 bits: two of ten million things are mistaken for each other once in 10^5 runs.
struct SeenHash {
  std::uint64_t hash = 0;
  [[nodiscard]] bool same(const SeenHash& other) const { return hash == other.hash; }
};

inline SeenHash seen_hash(std::uint64_t hash) { return {hash != 0 ? hash : 1}; }

class SeenTexts {
 public:
  // False: it was there already.
  bool add(std::string_view text);

 private:
  Seen<SeenHash> seen_;
};

}  // namespace mrrope::eval

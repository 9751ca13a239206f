// SPDX-License-Identifier: MIT
//
// Chance that is the same everywhere: splitmix64 (Steele, Lea, Flood 2014; Vigna's public-domain constants), and draws
// made of integers only. The standard's engines are portable, its distributions and std::shuffle are not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mrrope::eval::drafts {

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed), state_(seed) {}

  // An independent generator for one purpose. It depends on the seed and the purpose, not on what was drawn before, so
  // that drawing more of one thing changes nothing else in a sample.
  [[nodiscard]] Random fork(std::string_view purpose) const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return Random(seed_ ^ hash);
  }
  [[nodiscard]] Random fork(std::uint64_t number) const { return Random(mixed(seed_ + (number + 1) * kStep)); }

  std::uint64_t next() { return mixed(state_ += kStep); }

  // Uniform in 0 … n-1, without bias. Domain: n > 0.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t excess = (0 - n) % n;  // 2^64 mod n
    std::uint64_t x = next();
    while (x < excess) x = next();
    return x % n;
  }
  // Uniform in first … last, both included.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  // Uniform in [0, 1), a multiple of 2^-53: exact in a double.
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[below(n)]);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::uint64_t seed_, state_;
};

std::string random_digits(Random& random, int count);   // the first is not 0
std::string random_uuid(Random& random);                // version 4, lower case
std::string random_letters(Random& random, int count);  // lower case
std::string random_pair(Random& random);                // "amber-lantern", from the built-in words

}  // namespace mrrope::eval::drafts

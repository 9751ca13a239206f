// SPDX-License-Identifier: MIT
//
// What the tests of rotary/ share: all instruction sets of this processor, tensors of any element type, and the exact
// rotation in long double, which knows nothing of fractions of a turn.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mrrope/rotary.h"
#include "rotary/job.h"
#include "rotary/reference.h"

namespace mrrope::test {

inline constexpr ElementType kTypes[] = {ElementType::f32, ElementType::f16, ElementType::bf16};
inline constexpr PairLayout kLayouts[] = {PairLayout::half_split, PairLayout::interleaved};

// The promise of mrrope/rotary.h for a pair of length 1: the sum of all roundings at their worst.
inline constexpr double kError = 4e-7;
// Which do not meet: no sample was off by more than 1.9e-7.
inline constexpr double kUsualError = 2.5e-7;

// Runs `check` once per instruction set that the kernels were compiled for and this processor has, and once on the
// reference.
template <class Check>
void on_every_target(Check check) {
  std::set<std::string> done;
  for (std::int64_t targets = hwy::SupportedTargets() | HWY_SCALAR | HWY_EMU128; targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    SCOPED_TRACE(rotary::instruction_set());
    // What was not compiled falls back to another
    if (done.insert(rotary::instruction_set()).second) check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

inline std::string name_of(ElementType type) {
  return type == ElementType::f32 ? "f32" : type == ElementType::f16 ? "f16" : "bf16";
}

inline std::size_t size_of(ElementType type) { return type == ElementType::f32 ? 4 : 2; }

// Elements in an allocation of exactly their size, so that AddressSanitizer sees the first byte beyond either end.
// `offset` elements of it come first and belong to nobody: they spoil the alignment.
class Elements {
 public:
  Elements(ElementType type, std::size_t count, std::size_t offset = 0)
      : type_(type),
        count_(count),
        offset_(offset * size_of(type)),
        bytes_(new unsigned char[offset_ + count * size_of(type)]) {
    std::memset(bytes_.get(), 0, offset_ + count * size_of(type));
  }
  Elements(const Elements& other) : Elements(other.type_, other.count_, other.offset_ / size_of(other.type_)) {
    std::memcpy(data(), other.data(), count_ * size_of(type_));
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  void* data() { return bytes_.get() + offset_; }
  [[nodiscard]] const void* data() const { return bytes_.get() + offset_; }

  [[nodiscard]] float get(std::size_t i) const {
    if (type_ == ElementType::f32) {
      float value = 0;
      std::memcpy(&value, bytes_.get() + offset_ + 4 * i, 4);
      return value;
    }
    return type_ == ElementType::f16 ? rotary::from_half(bits(i)) : rotary::from_bfloat(bits(i));
  }
  void set(std::size_t i, float value) {
    if (type_ == ElementType::f32) {
      std::memcpy(bytes_.get() + offset_ + 4 * i, &value, 4);
    } else {
      set_bits(i, type_ == ElementType::f16 ? rotary::to_half(value) : rotary::to_bfloat(value));
    }
  }
  [[nodiscard]] std::uint16_t bits(std::size_t i) const {
    std::uint16_t stored = 0;
    std::memcpy(&stored, bytes_.get() + offset_ + 2 * i, 2);
    return stored;
  }
  void set_bits(std::size_t i, std::uint16_t stored) { std::memcpy(bytes_.get() + offset_ + 2 * i, &stored, 2); }

  // Bit for bit.
  friend bool operator==(const Elements& a, const Elements& b) {
    return a.count_ == b.count_ && std::memcmp(a.data(), b.data(), a.count_ * size_of(a.type_)) == 0;
  }

 private:
  ElementType type_;
  std::size_t count_, offset_;
  std::unique_ptr<unsigned char[]> bytes_;
};

// Numbers between -1 and 1.
inline Elements random_elements(ElementType type, std::size_t count, unsigned seed, std::size_t offset = 0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Elements elements(type, count, offset);
  for (std::size_t i = 0; i < count; ++i) elements.set(i, uniform(random));
  return elements;
}

// Where the two coordinates of a pair are within a head.
struct PairPlace {
  std::size_t x, y;
};
inline PairPlace place(PairLayout layout, std::size_t pairs, std::size_t pair) {
  return layout == PairLayout::half_split ? PairPlace{pair, pairs + pair} : PairPlace{2 * pair, 2 * pair + 1};
}

// One vector of pairs of length 1, at random angles.
inline Elements unit_pairs(ElementType type, PairLayout layout, std::size_t pairs, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> angle(0, 6.283185307179586);
  Elements head(type, 2 * pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double a = angle(random);
    const PairPlace at = place(layout, pairs, i);
    head.set(at.x, static_cast<float>(std::cos(a)));
    head.set(at.y, static_cast<float>(std::sin(a)));
  }
  return head;
}

struct Exact {
  long double x, y;
};
// position * speed as long double is good to 2^31 * 2^-64 rad, and the library's cosl reduces it without a loss.
inline Exact exact(double x, double y, std::int32_t position, double inv_freq, double scale = 1) {
  const long double angle = static_cast<long double>(position) * static_cast<long double>(inv_freq);
  const long double c = scale * std::cos(angle);
  const long double s = scale * std::sin(angle);
  return {x * c - y * s, y * c + x * s};
}

// Half of a unit in the last place: what rounding to the type may cost.
inline double half_ulp(ElementType type, double value) {
  if (type == ElementType::f32) return 0;  // is part of kError
  const int digits = type == ElementType::f16 ? 11 : 8;
  const int smallest = type == ElementType::f16 ? -14 : -126;
  const int exponent = value == 0 ? smallest : std::max(std::ilogb(value), smallest);
  return std::ldexp(1.0, exponent - digits);
}

// theta_i = base^(-i/n).
inline std::vector<double> speeds(std::size_t pairs, double base = 10000) {
  std::vector<double> inv_freq;
  for (std::size_t i = 0; i < pairs; ++i) {
    inv_freq.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return inv_freq;
}

}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
#include "rotary/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace mrrope::rotary {

namespace {

struct F32 {
  using Stored = float;
  static double load(float stored) { return stored; }
  static float store(double value) { return static_cast<float>(value); }
};

struct F16 {
  using Stored = std::uint16_t;
  static double load(std::uint16_t stored) { return from_half(stored); }
  static std::uint16_t store(double value) { return to_half(static_cast<float>(value)); }
};

struct BF16 {
  using Stored = std::uint16_t;
  static double load(std::uint16_t stored) { return from_bfloat(stored); }
  static std::uint16_t store(double value) { return to_bfloat(static_cast<float>(value)); }
};

// m * step modulo 2^64. Unsigned arithmetic wraps, and a negative position is its own complement.
std::uint64_t phase(const Angles& angles, std::size_t token, std::size_t pair) {
  if (!angles.table) return 0;
  return static_cast<std::uint64_t>(std::int64_t{angles.positions[token]}) * angles.table->step(pair);
}

template <class Element>
void rotate(const Job& job) {
  using Stored = typename Element::Stored;
  const std::size_t n = job.pairs();
  const bool split = job.layout == PairLayout::half_split;
  for (std::size_t token = job.first; token < job.last; ++token) {
    const Stored* source = static_cast<const Stored*>(job.source) + token * job.from.token;
    Stored* destination = static_cast<Stored*>(job.destination) + token * job.to.token;
    for (std::size_t pair = 0; pair < n; ++pair) {
      // As a signed fraction, so that small angles on either side of 0 keep their digits
      const std::uint64_t turn = phase(job.forward, token, pair) - phase(job.backward, token, pair);
      const double angle = static_cast<double>(static_cast<std::int64_t>(turn)) * (2 * std::numbers::pi * 0x1p-64);
      const double c = job.scale * std::cos(angle);
      const double s = job.scale * std::sin(angle);
      const std::size_t i = split ? pair : 2 * pair;
      const std::size_t j = split ? n + pair : 2 * pair + 1;
      for (std::size_t head = 0; head < job.heads; ++head) {
        const Stored* from = source + head * job.from.head;
        Stored* to = destination + head * job.to.head;
        const double x = Element::load(from[i]);
        const double y = Element::load(from[j]);
        to[i] = Element::store(x * c - y * s);
        to[j] = Element::store(y * c + x * s);
      }
    }
    if (source == destination) continue;
    for (std::size_t head = 0; head < job.heads; ++head) {
      const Stored* from = source + head * job.from.head;
      std::copy(from + 2 * n, from + job.head_dim, destination + head * job.to.head + 2 * n);
    }
  }
}

}  // namespace

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1F;
  const int fraction = bits & 0x3FF;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    magnitude = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024), std::max(exponent, 1) - 25);
  }
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

std::uint16_t to_half(float value) {
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7C00U);  // half-way to 2^16 and beyond
  // In units of the last place, a whole number below 2048 (or 2048 itself, which carries into the exponent)
  const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | ((static_cast<unsigned>(exponent + 14) << 10U) + units));
}

float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);  // stays one, and quiet
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

void rotate_plainly(const Job& job) {
  switch (job.type) {
    case ElementType::f32: return rotate<F32>(job);
    case ElementType::f16: return rotate<F16>(job);
    case ElementType::bf16: return rotate<BF16>(job);
  }
}

}  // namespace mrrope::rotary

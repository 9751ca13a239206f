// SPDX-License-Identifier: MIT
//
// Zeros of B(m) = sum_i cos(m theta_i), scanned over every integer distance.
//
// One cosine per pair and distance would take 64 million calls for 2^20 distances. Instead distances come in blocks
// around a centre c, and
//   cos((c + j) theta) = E - O,  cos((c - j) theta) = E + O,
//   E = cos(c theta) cos(j theta),  O = sin(c theta) sin(j theta),
// so that a block costs one sincos per pair, and one multiply-add per pair and distance, without the drift of a
// recurrence.
//
// References
//   Men, Xu, Wang, Zhang, Lin, Han, Chen. Base of RoPE Bounds Context Length. 2024. arXiv:2405.14591v1
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "mrrope/analysis.h"

namespace mrrope {

double bound(std::span<const double> inv_freq, double distance) noexcept {
  long double sum = 0;
  for (const double theta : inv_freq) sum += std::cos(static_cast<long double>(distance) * theta);
  return static_cast<double>(sum);
}

double score_correlation(std::span<const double> inv_freq, double distance) noexcept {
  return bound(inv_freq, distance) / static_cast<double>(inv_freq.size());
}

namespace {

constexpr std::size_t kHalf = 256;
constexpr std::size_t kBlock = 2 * kHalf;
using Block = std::array<double, kBlock>;

// The rounding of m * theta in double moves cos by at most m theta 2^-53, and a sum of n terms by n times that. A sum
// nearer to zero is decided term by term in long double.
double doubt(std::size_t pairs, std::int64_t distance) {
  return 0x1p-52 * static_cast<double>(pairs) * static_cast<double>(distance + 16);
}

class BlockSums {
 public:
  explicit BlockSums(std::span<const double> inv_freq)
      : inv_freq_(inv_freq), cosines_(inv_freq.size()), sines_(inv_freq.size()) {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      for (std::size_t j = 0; j <= kHalf; ++j) {
        const double angle = static_cast<double>(j) * inv_freq[i];
        cosines_[i][j] = std::cos(angle);
        sines_[i][j] = std::sin(angle);
      }
    }
  }

  // sums[t] += cos((start + t) theta_i) over pairs first <= i < last.
  void add(std::int64_t start, std::size_t first, std::size_t last, Block& sums) const {
    HalfBlock even{};
    HalfBlock odd{};
    const auto centre = static_cast<double>(start + static_cast<std::int64_t>(kHalf));
    for (std::size_t i = first; i < last; ++i) {
      const double c = std::cos(centre * inv_freq_[i]);
      const double s = std::sin(centre * inv_freq_[i]);
      const HalfBlock& cosines = cosines_[i];
      const HalfBlock& sines = sines_[i];
      for (std::size_t j = 0; j <= kHalf; ++j) {
        even[j] += c * cosines[j];
        odd[j] += s * sines[j];
      }
    }
    for (std::size_t t = 0; t < kHalf; ++t) {
      sums[t] += even[kHalf - t] + odd[kHalf - t];
      sums[kHalf + t] += even[t] - odd[t];
    }
  }

 private:
  using HalfBlock = std::array<double, kHalf + 1>;

  std::span<const double> inv_freq_;
  std::vector<HalfBlock> cosines_;
  std::vector<HalfBlock> sines_;
};

// First m whose window sum is <= 0, fed with B(1), B(2), … in order. Keeps one window of values.
class SmoothedZero {
 public:
  explicit SmoothedZero(int window) : values_(static_cast<std::size_t>(window), 0.0) {}

  void push(double value) {
    // The newest value closes the window of m = newest - window/2 + 1; the oldest one leaves it.
    const std::size_t slot = static_cast<std::size_t>(++newest_) % values_.size();
    sum_ += value - values_[slot];
    values_[slot] = value;
    if (slot == 0) sum_ = fresh_sum();
    const std::int64_t m = newest_ - static_cast<std::int64_t>(values_.size() / 2) + 1;
    if (zero_ || m < 1 || sum_ > kDrift) return;
    // The running sum may have drifted: decide on a fresh one.
    sum_ = fresh_sum();
    if (sum_ <= 0) zero_ = m;
  }

  [[nodiscard]] const std::optional<std::int64_t>& zero() const { return zero_; }

 private:
  // One turn of the ring is `window` additions to a sum below window * pairs: for 512 and 4096 pairs, less than 1e-6.
  static constexpr double kDrift = 1e-6;

  [[nodiscard]] double fresh_sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }

  std::vector<double> values_;  // ring; zeros stand for distances below 1, which do not count
  std::int64_t newest_ = 0;
  double sum_ = 0;
  std::optional<std::int64_t> zero_;
};

}  // namespace

BoundZeros bound_zeros(std::span<const double> inv_freq, const Band& band, std::int64_t limit, int window) {
  assert(limit >= 1 && window >= 2 && window % 2 == 0);
  const std::size_t n = inv_freq.size();
  const auto edge = [&](double e) { return std::clamp(static_cast<std::size_t>(std::ceil(e)), std::size_t{0}, n); };
  const std::size_t low = edge(band.low);
  const std::size_t high = std::max(low, edge(band.high));
  const auto band_pairs = inv_freq.subspan(low, high - low);

  BoundZeros zeros;
  SmoothedZero smoothed(window);
  const BlockSums sums(inv_freq);
  const auto crossed = [&](double value, std::span<const double> pairs, std::int64_t m) {
    return value < doubt(n, m) && (value < -doubt(n, m) || bound(pairs, static_cast<double>(m)) <= 0);
  };

  const std::int64_t last = limit + window / 2 - 1;  // the last window reaches beyond the limit
  for (std::int64_t start = 1; start <= last; start += static_cast<std::int64_t>(kBlock)) {
    Block rest{};
    Block inside{};
    sums.add(start, 0, low, rest);
    sums.add(start, low, high, inside);
    sums.add(start, high, n, rest);
    for (std::size_t j = 0; j < kBlock; ++j) {
      const std::int64_t m = start + static_cast<std::int64_t>(j);
      if (m > last) break;
      const double whole = rest[j] + inside[j];
      if (m <= limit) {
        if (!zeros.first_zero && crossed(whole, inv_freq, m)) zeros.first_zero = m;
        if (!zeros.band_first_zero && !band_pairs.empty() && crossed(inside[j], band_pairs, m)) {
          zeros.band_first_zero = m;
        }
      }
      smoothed.push(whole);
    }
    zeros.smoothed_first_zero = smoothed.zero();
    const bool band_done = zeros.band_first_zero || band_pairs.empty();
    if (zeros.first_zero && band_done && zeros.smoothed_first_zero) break;
  }
  return zeros;
}

std::vector<double> bound_curve(std::span<const double> inv_freq, std::int64_t limit) {
  assert(limit >= 0);
  const BlockSums sums(inv_freq);
  std::vector<double> curve;
  curve.reserve(static_cast<std::size_t>(limit));
  for (std::int64_t start = 1; start <= limit; start += static_cast<std::int64_t>(kBlock)) {
    Block block{};
    sums.add(start, 0, inv_freq.size(), block);
    const auto count = std::min<std::int64_t>(static_cast<std::int64_t>(kBlock), limit - start + 1);
    curve.insert(curve.end(), block.begin(), block.begin() + count);
  }
  return curve;
}

}  // namespace mrrope

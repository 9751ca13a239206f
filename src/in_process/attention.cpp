// SPDX-License-Identifier: MIT
#include "mrrope/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <random>

namespace mrrope::eval {

namespace {

using Complex = std::complex<double>;

// q_i conj(k_i) / sqrt(D) of the band's pairs, one row per sample.
std::vector<Complex> draw_products(std::span<const LayerVectors> layers, std::size_t first, std::size_t count,
                                   const AttentionOptions& options) {
  std::mt19937_64 random(options.seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Complex> out;
  out.reserve(static_cast<std::size_t>(options.samples) * count);
  for (int s = 0; s < options.samples; ++s) {
    const LayerVectors& layer = layers[below(layers.size())];
    const auto pairs = static_cast<std::size_t>(layer.pairs);
    const auto heads = static_cast<std::size_t>(layer.query_heads);
    const auto key_heads = static_cast<std::size_t>(layer.key_heads);
    const std::size_t tokens = layer.keys.size() / (key_heads * pairs);
    const std::size_t head = below(heads);
    // The key comes before the query, as in the text; the first token, on which attention rests, is no example
    const std::size_t q = tokens > 2 ? 2 + below(tokens - 2) : tokens - 1;
    const std::size_t k = q > 1 ? 1 + below(q - 1) : 0;
    const auto* query = layer.queries.data() + (q * heads + head) * pairs;
    const auto* key = layer.keys.data() + (k * key_heads + head / (heads / key_heads)) * pairs;
    const double scale = 1 / std::sqrt(static_cast<double>(layer.head_dim));
    for (std::size_t i = first; i < first + count; ++i)
      out.push_back(scale * Complex(query[i]) * std::conj(Complex(key[i])));
  }
  return out;
}

double quantile(std::vector<double>& values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

AttentionCurve attention_by_distance(std::span<const LayerVectors> layers, const GroupPlan& group, int first, int last,
                                     std::span<const double> distances, const AttentionOptions& options) {
  assert(!layers.empty() && first >= 0 && first <= last);
  assert(static_cast<std::size_t>(last) < group.inv_freq.size());
  const auto low = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(last) - low + 1;
  const std::vector<Complex> products = draw_products(layers, low, count, options);
  const double squared = group.attention_scale * group.attention_scale;
  AttentionCurve out;
  std::vector<Complex> turn(count);
  std::vector<double> scores(static_cast<std::size_t>(options.samples));
  for (const double distance : distances) {
    for (std::size_t i = 0; i < count; ++i) turn[i] = std::polar(squared, distance * group.inv_freq[low + i]);
    double sum = 0;
    double squares = 0;
    for (std::size_t s = 0; s < scores.size(); ++s) {
      double score = 0;
      for (std::size_t i = 0; i < count; ++i) score += (products[s * count + i] * turn[i]).real();
      scores[s] = score;
      sum += score;
      squares += score * score;
    }
    const auto n = static_cast<double>(scores.size());
    out.mean.push_back(sum / n);
    out.deviation.push_back(std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n))));
    out.lower.push_back(quantile(scores, 0.25));
    out.upper.push_back(quantile(scores, 0.75));
  }
  return out;
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Records of every shape, with names and texts that nobody wishes for; the same for the same seed.
#pragma once

#include <fmt/format.h>

#include <array>
#include <random>
#include <string>

#include "mrrope/records.h"

namespace mrrope::test {

class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}  // NOLINT: the same records every time

  eval::Record next() { return below(4) == 0 ? reading() : answer(); }

  // Few plans, tasks, lengths and samples, so that there are pairs, and samples that were answered twice.
  eval::Record answer() {
    static constexpr std::array<double, 6> scores = {0, 1, 1, 0.25, 1.0 / 3, 0.7};
    eval::Record r = head(below(2) == 0 ? "niah \"1\"" : fmt::format("task {}", below(3)));
    eval::Answer a{.length = std::int64_t{1024} << below(3), .index = static_cast<std::int64_t>(below(200))};
    r.document = fmt::format("{} {} #{}", r.task, a.length, a.index);
    r.document_hash = eval::content_hash(r.document);
    a.depth = below(5) == 0 ? -1 : number();
    if (below(2) == 0) a.asked_depth = static_cast<double>(below(5)) / 4;
    a.prompt_tokens = a.length - 7;
    a.new_tokens = static_cast<std::int64_t>(below(20));
    a.text = text();
    a.finish = below(4) == 0 ? "length" : "stop";
    for (std::uint64_t n = below(3); n > 0; --n) a.references.push_back(text());
    a.score = scores.at(below(scores.size()));
    if (below(2) == 0) a.labels = {{"domain", fmt::format("d{}", below(4))}, {"i d", text()}};
    if (below(3) == 0) a.others = {{"rouge", number()}, {"b", -1.0}};
    if (below(3) != 0) a.right = eval::RightAnswer{20 * number(), 1 + static_cast<std::int64_t>(below(9))};
    if (below(2) == 0) a.rotation = "00112233445566aa";
    r.result = a;
    return r;
  }

  eval::Record reading() {
    eval::Record r = head("ppl");
    r.document = text();
    r.document_hash = fmt::format("text {}", below(8));
    eval::Reading reading{.bucket = 256};
    for (std::uint64_t n = below(4); n > 0; --n) {
      reading.points.push_back({1024 * static_cast<std::int64_t>(reading.points.size() + 1), 1023, 3000 * number()});
    }
    for (std::uint64_t n = below(17); n > 0; --n) reading.bucket_nll.push_back(700 * number());
    for (std::uint64_t n = below(5); n > 0; --n) reading.inv_freq.push_back(number());
    if (below(2) == 0) reading.kl_tokens = 512;
    reading.kl = -number();
    reading.attention_scale = 1 + number();
    r.result = reading;
    return r;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  double number() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

  std::string text() {
    static const std::array<std::string, 10> parts = {" plain words ",      "1234567", "\"", "\\", "\n", "\t", "é", "𝄞",
                                                      std::string(1, '\0'), "\x7f"};
    std::string out;
    for (std::uint64_t n = below(6); n > 0; --n) out += parts.at(below(parts.size()));
    return out;
  }

  eval::Record head(std::string task) {
    eval::Record r;
    r.key = fmt::format("{:016x}", random_());
    r.task = std::move(task);
    r.method = below(3) == 0 ? "yarn" : below(2) == 0 ? "none" : "mrrope-pro";
    r.factor = r.method == "none" ? 1 : below(3) == 0 ? 2.5 : 4;
    r.seconds = below(4) == 0 ? 3 : 100 * number();
    if (below(8) == 0) r.rung = "16k";
    return r;
  }

  std::mt19937_64 random_;
};

}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
//
// Records with answers, as a task leaves them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "mrrope/records.h"

namespace mrrope::test {

struct AnswerCase {
  std::string task = "niah_single_1";
  std::string method = "yarn";
  double factor = 4;
  std::int64_t length = 4096;
  std::int64_t index = 0;
  double score = 1;
};

inline eval::Record answer_record(const AnswerCase& c) {
  eval::Record r;
  r.task = c.task;
  r.method = c.method;
  r.factor = c.factor;
  r.document = fmt::format("{} {} #{}", c.task, c.length, c.index);
  r.document_hash = eval::content_hash(r.document);
  r.key = eval::content_hash(fmt::format("{} {} {}", r.document, c.method, c.factor));
  r.result = eval::Answer{.length = c.length,
                          .index = c.index,
                          .depth = 0.25,
                          .prompt_tokens = c.length - 128,
                          .new_tokens = 12,
                          .text = " The special magic number is 1234567.",
                          .finish = "stop",
                          .references = {"1234567"},
                          .score = c.score,
                          .others = {},
                          .rotation = "00112233445566aa"};
  r.seconds = 0.5;
  return r;
}

}  // namespace mrrope::test

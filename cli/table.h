// SPDX-License-Identifier: MIT
//
// Tables of text: the first column to the left, numbers to the right, two spaces between.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mrrope/methods.h"
#include "mrrope/radix.h"

namespace mrrope::cli {

class TextTable {
 public:
  // `left` columns are aligned to the left, the others to the right.
  TextTable(std::vector<std::string> header, std::size_t left);

  void add(std::vector<std::string> row, bool highlighted = false);

  // Every line starts with two columns for the mark of highlighted rows. What is wider than the terminal goes on in
  // further blocks, each with the left columns again.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool highlighted = false;
  };
  [[nodiscard]] std::string line(const Row& row, const std::vector<std::size_t>& widths, std::size_t from,
                                 std::size_t to) const;

  std::size_t left_;
  std::vector<Row> rows_;  // the first is the header
};

// A method and a kind at the width a comparison has for them.
std::string short_name(const Method& method);
std::string short_kind(Conversion::Kind kind);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// A list that grows without being copied: half a kilobyte at a time, and nothing before the first.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace mrrope::eval {

template <class T>
class Column {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  [[nodiscard]] T& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }

  void push_back(T value) {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    blocks_.back()[size_++ % kBlock] = value;
  }

 private:
  static constexpr std::size_t kBlock = 512 / sizeof(T);
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace mrrope::eval

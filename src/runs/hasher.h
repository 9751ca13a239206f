// SPDX-License-Identifier: MIT
//
// content_hash() of what comes in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace mrrope::eval {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::string_view bytes);
  [[nodiscard]] std::string digest() const;  // content_hash() of all that was added

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mrrope::eval

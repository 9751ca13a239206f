// SPDX-License-Identifier: MIT
//
// Result<T>: a value, or an Error that says what was expected, what was found and where.
//
//   mrrope::Result<mrrope::Plan> plan = mrrope::plan_from_json(text);
//   if (!plan) return fail(plan.error());   // error().where == "method.params.beta_fast"
//   use(*plan);
//
// Policy of the library: a broken contract (documented under "Domain:" at each function) is an assert; anything that
// came from outside (a file, a flag, a model, a server) is an Error. The library never aborts, exits or prints.
//
// The names are those of std::expected (C++23), so that a later change of type changes no caller.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mrrope {

// What kind of thing went wrong: enough to choose an exit status or a next step, never the whole story.
enum class ErrorCode {
  invalid_argument,  // a value outside its documented range
  malformed,         // text or bytes that do not follow their format
  inconsistent,      // fields that contradict each other
  unsupported,       // valid, but not something this build or this target can do
  too_long,          // does not fit into the length that was asked for
  io,                // the operating system refused
  cancelled,         // someone asked to stop
  out_of_memory,     // it ran out while a file was read
};

// "malformed", …: stable, for JSON and for tests.
const char* to_string(ErrorCode code) noexcept;

struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;     // one sentence: what was expected, what was found
  std::string where = {};  // a field ("band.low"), a file and offset; empty if the message says it all
  // Which one it is about, by its name in the structs of options ("ctx_size"); or what helps: "force", "undo", "vocabulary".
  std::string option = {};

  bool operator==(const Error&) const = default;
};

// "band.low: expected a number, found \"x\""; an option stands before its place: "rpc host:1: expected …".
std::string to_string(const Error& error);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Domain: has_value().
  T& operator*() & noexcept { return *get(this); }
  const T& operator*() const& noexcept { return *get(this); }
  T&& operator*() && noexcept { return std::move(*get(this)); }
  T* operator->() noexcept { return get(this); }
  const T* operator->() const noexcept { return get(this); }

  // Domain: !has_value().
  [[nodiscard]] const Error& error() const& noexcept {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && noexcept {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  template <class Self>
  static auto* get(Self* self) noexcept {
    assert(self->has_value());
    return std::get_if<0>(&self->state_);
  }

  std::variant<T, Error> state_;
};

// Of what has nothing to say when it succeeds:  if (const auto ok = run.append(record); !ok) return ok.error();
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }

  // Domain: !has_value().
  [[nodiscard]] const Error& error() const& noexcept {
    assert(!has_value());
    return *error_;
  }
  [[nodiscard]] Error&& error() && noexcept {
    assert(!has_value());
    return *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace mrrope

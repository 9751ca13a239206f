// SPDX-License-Identifier: MIT
//
// Between C++ and Python: errors, texts from anywhere, lengths, and arrays that are not copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::python {

namespace nb = nanobind;

// ---- Errors --------------------------------------------------------------------------------------------------------

// As mrrope.Error.
[[noreturn]] void raise(const Error& error);

template <class T>
T value(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

inline void check(const Result<void>& result) {
  if (!result) raise(result.error());
}

// What the headers document as a domain is an error here: Python callers come from outside.
inline void require(bool holds, const char* where, const char* expected) {
  if (!holds) raise({ErrorCode::invalid_argument, expected, where});
}

// ---- Texts and lengths ---------------------------------------------------------------------------------------------

// Files say what they like: bytes that are not UTF-8 become U+FFFD.
nb::str text(std::string_view bytes);
std::vector<nb::str> texts(std::span<const std::string> all);

// Names of files are bytes; Python smuggles them through str (PEP 383).
nb::object path_text(const std::string& path);

// A property that shows a text: .def_prop_ro("advice", &read_text<&Finding::advice, Finding>).
template <auto Member, class Owner>
nb::str read_text(const Owner& owner) {
  return text(owner.*Member);
}

// 32768 or "32k"; any Python integer. Errors: outside 1 … kMaxContext.
std::int64_t tokens(nb::handle length, const char* where);

// ---- Arrays --------------------------------------------------------------------------------------------------------

// One-dimensional, read-only: the memory belongs to a C++ value that its owner keeps alive.
using Array = nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig>;
Array view(const std::vector<double>& values, nb::handle owner);
// A new one, which takes the vector over.
Array taken(std::vector<double> values);

// Numbers from Python: an array of float64 is read where it is, anything else that is a sequence is converted.
using Numbers =
    std::variant<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>, std::vector<double>>;
std::span<const double> span_of(const Numbers& numbers);

// ---- Values --------------------------------------------------------------------------------------------------------

template <class T>
nb::object equal(const T& a, nb::handle b) {
  if (!nb::isinstance<T>(b)) return nb::borrow(Py_NotImplemented);
  return nb::bool_(a == nb::cast<const T&>(b));
}

}  // namespace mrrope::python

// SPDX-License-Identifier: MIT
#include "python/src/convert.h"

#include <memory>

#include "base/text.h"
#include "mrrope/units.h"

namespace mrrope::python {

void raise(const Error& error) {
  const nb::object type = nb::module_::import_("mrrope.errors").attr("Error");
  // Tracebacks go to terminals, and what a message quotes comes from files.
  const auto shown = [](const std::string& t) { return text(base::printable(t, t.size())); };
  const std::string where =
      error.option.empty() || error.where.empty() ? error.option + error.where : error.option + " " + error.where;
  const nb::object instance = type(shown(error.message), text(to_string(error.code)), shown(where));
  PyErr_SetObject(type.ptr(), instance.ptr());
  throw nb::python_error();
}

nb::str text(std::string_view bytes) {
  PyObject* string = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
  if (string == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(string);
}

std::vector<nb::str> texts(std::span<const std::string> all) {
  std::vector<nb::str> out;
  for (const std::string& one : all) out.push_back(text(one));
  return out;
}

nb::object path_text(const std::string& path) {
  PyObject* string = PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
  if (string == nullptr) throw nb::python_error();
  return nb::steal(string);
}

std::int64_t tokens(nb::handle length, const char* where) {
  if (nb::isinstance<nb::str>(length)) {
    Result<std::int64_t> parsed = parse_context(nb::cast<std::string>(length));
    if (!parsed) raise({parsed.error().code, parsed.error().message, where});
    return *parsed;
  }
  const nb::object number = nb::steal(PyNumber_Index(length.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const std::int64_t out = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  require(overflow == 0 && out >= 1 && out <= kMaxContext, where, "expected a length between 1 and 2^40 tokens");
  return out;
}

Array view(const std::vector<double>& values, nb::handle owner) { return {values.data(), {values.size()}, owner}; }

Array taken(std::vector<double> values) {
  auto kept = std::make_unique<std::vector<double>>(std::move(values));
  const double* data = kept->data();
  const std::size_t size = kept->size();
  const nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  (void)kept.release();  // the capsule has it now
  return {data, {size}, owner};
}

std::span<const double> span_of(const Numbers& numbers) {
  if (const auto* list = std::get_if<std::vector<double>>(&numbers)) return *list;
  const auto& array = *std::get_if<0>(&numbers);
  return {array.data(), array.size()};
}

}  // namespace mrrope::python

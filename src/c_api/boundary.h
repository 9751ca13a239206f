// SPDX-License-Identifier: MIT
//
// Where C++ ends: no exception leaves a function of mrrope/c.h, and an Error becomes a status and a sentence.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "mrrope/c.h"
#include "mrrope/result.h"

namespace mrrope::c_api {

// Each keeps the sentence for mrrope_last_error() on this thread and returns the status. Takes no memory.
int fail(int status, std::string_view sentence) noexcept;
int fail(const Error& error);

// The body of a function that can fail: f() returns a status.
template <class F>
int guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(MRROPE_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& mistake) {
    return fail(MRROPE_INTERNAL, mistake.what());
  } catch (...) {
    return fail(MRROPE_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace mrrope::c_api

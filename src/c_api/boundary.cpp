// SPDX-License-Identifier: MIT
#include "c_api/boundary.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mrrope/version.h"

namespace mrrope::c_api {

namespace {

// Plain bytes: there is a place for the sentence when memory has run out, and nothing to destroy when a thread ends
// after the library was unloaded.
thread_local std::array<char, 1024> last_error = {};

int status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return MRROPE_INVALID_ARGUMENT;
    case ErrorCode::malformed: return MRROPE_MALFORMED;
    case ErrorCode::inconsistent: return MRROPE_INCONSISTENT;
    case ErrorCode::unsupported: return MRROPE_UNSUPPORTED;
    case ErrorCode::out_of_memory: return MRROPE_OUT_OF_MEMORY;
    case ErrorCode::io:
    case ErrorCode::too_long:
    case ErrorCode::cancelled: break;
  }
  return MRROPE_INTERNAL;
}

}  // namespace

int fail(int status, std::string_view sentence) noexcept {
  std::size_t length = std::min(sentence.size(), last_error.size() - 1);
  // A character of several bytes is kept or dropped as a whole
  if (length < sentence.size()) {
    while (length > 0 && (static_cast<unsigned char>(sentence[length]) & 0xc0U) == 0x80U) --length;
  }
  std::memcpy(last_error.data(), sentence.data(), length);
  last_error[length] = '\0';
  return status;
}

int fail(const Error& error) { return fail(status_of(error.code), to_string(error)); }

}  // namespace mrrope::c_api

const char* mrrope_last_error(void) { return mrrope::c_api::last_error.data(); }

const char* mrrope_version(void) { return MRROPE_VERSION; }

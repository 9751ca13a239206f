// SPDX-License-Identifier: MIT
#include "mrrope/result.h"

namespace mrrope {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::inconsistent: return "inconsistent";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::io: return "input/output";
    case ErrorCode::cancelled: return "cancelled";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  return error.where.empty() ? error.message : error.where + ": " + error.message;
}

}  // namespace mrrope

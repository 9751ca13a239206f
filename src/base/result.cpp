// SPDX-License-Identifier: MIT
#include "mrrope/result.h"

namespace mrrope {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::inconsistent: return "inconsistent";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::too_long: return "too long";
    case ErrorCode::io: return "input/output";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::out_of_memory: return "out of memory";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  const std::string between = error.option.empty() || error.where.empty() ? "" : " ";
  const std::string place = error.option + between + error.where;
  return place.empty() ? error.message : place + ": " + error.message;
}

}  // namespace mrrope

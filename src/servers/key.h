// SPDX-License-Identifier: MIT
//
// The API key in what servers say: a server knows it, may repeat it, and its words end up in errors and records.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mrrope::servers {

// So many characters in a row tell something of a key.
inline constexpr std::size_t kTellingPart = 8;

// `text` with "[key]" wherever kTellingPart characters of the key follow each other, in upper or lower case; of a
// shorter key, all of it as it is. Other encodings of it are not looked for. Time grows with the text, not with the
// key.
std::string without_key(std::string_view text, std::string_view api_key);

// Whether all of a key of at least kTellingPart characters is there, in upper or lower case: no model knows it.
bool repeats_key(std::string_view text, std::string_view api_key);

}  // namespace mrrope::servers

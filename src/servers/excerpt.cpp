// SPDX-License-Identifier: MIT
//
// A server may say anything, the key it was sent included, and its words end up in errors.
#include <cstddef>

#include "base/unicode.h"
#include "servers/api.h"
#include "servers/key.h"

namespace mrrope::servers {

namespace {

constexpr std::size_t kMaxExcerpt = 300;

// Runs of what cannot be shown become one blank.
std::string shown(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const base::CodePoint first = base::first_code_point(bytes);
    if (base::is_visible(first.value) && first.value != ' ') {
      text += bytes.substr(0, first.bytes);
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
    bytes.remove_prefix(first.bytes);
  }
  return text;
}

}  // namespace

std::string excerpt(std::string_view bytes, std::string_view api_key) {
  // A key that begins within the excerpt has to be seen whole; blanks that are run together move text to the front.
  const std::string text = without_key(shown(bytes.substr(0, 8 * kMaxExcerpt + api_key.size())), api_key);
  std::string out;
  std::string_view rest = text;
  while (!rest.empty() && out.size() < kMaxExcerpt) {
    const std::size_t length = base::first_code_point(rest).bytes;
    out += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) out += " …";
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace mrrope::servers

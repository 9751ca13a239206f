// SPDX-License-Identifier: MIT
#include "deploy/quote.h"

#include <algorithm>

#include "base/json.h"
#include "formats/gguf_sidecar.h"

namespace mrrope::deploy {

namespace {

constexpr std::size_t kMaxName = 40;

std::string with_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string_view::npos; found = text.find(from, at)) {
    out.append(text.substr(at, found - at)).append(to);
    at = found + from.size();
  }
  return out.append(text.substr(at));
}

}  // namespace

// YAML 1.2 reads every JSON string.
std::string yaml_quoted(std::string_view text) {
  return base::Json(std::string(text)).dump(-1, ' ', true, base::Json::error_handler_t::replace);
}

std::string compose_quoted(std::string_view text) { return yaml_quoted(with_all(text, "$", "$$")); }

std::string kubernetes_quoted(std::string_view text) { return yaml_quoted(with_all(text, "$(", "$$(")); }

std::string systemd_quoted(std::string_view text) {
  std::string out = with_all(with_all(text, "\\", "\\\\"), "\"", "\\\"");
  return "\"" + with_all(with_all(out, "%", "%%"), "$", "$$") + "\"";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  const bool plain = !text.empty() && text.find_first_not_of(kSafe) == std::string_view::npos;
  return plain ? std::string(text) : formats::posix_quoted(text);
}

std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (plain) out += lower;
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  out.resize(std::min(out.size(), kMaxName));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "model" : out;
}

}  // namespace mrrope::deploy

// SPDX-License-Identifier: MIT
//
// Names as the formats of others read them back. Whatever is in a name, it stays a name.
#pragma once

#include <string>
#include <string_view>

namespace mrrope::deploy {

// "…" of YAML: every character outside ASCII and every control character by its number. Bytes that are not UTF-8 become
// U+FFFD.
std::string yaml_quoted(std::string_view text);

// The same in a Compose file, which would put variables in the place of $NAME.
std::string compose_quoted(std::string_view text);

// The same in command and args of Kubernetes, which would put variables in the place of $(NAME).
std::string kubernetes_quoted(std::string_view text);

// A word of ExecStart. Domain: no control characters.
std::string systemd_quoted(std::string_view text);

// A word of a POSIX shell.
std::string shell_word(std::string_view text);

// "SmolLM2 135M (Instruct)" -> "smollm2-135m-instruct": letters, digits and single - as names of Kubernetes have them,
// at most 40; "model" if nothing is left.
std::string plain_name(std::string_view text);

}  // namespace mrrope::deploy

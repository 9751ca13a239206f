// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "base/unicode.h"
#include "cli/host.h"
#include "cli/pace.h"

namespace mrrope::cli {

namespace {

// The first of LC_ALL, LC_CTYPE and LANG that is set decides. Nothing set (containers) means a modern terminal.
bool locale_is_unicode() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string name = base::lower_case(environment_variable(variable));
    if (name.empty()) continue;
    return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
  }
  return true;
}

// Nobody reads tables in a window narrower than this.
constexpr std::size_t kNarrowest = 40;

std::size_t window_width() {
  if (const std::size_t columns = window_columns(); columns > 0) return std::max(columns, kNarrowest);
  const std::size_t asked = std::strtoul(environment_variable("COLUMNS").c_str(), nullptr, 10);
  return asked >= kNarrowest ? asked : 80;
}

// Emacs' shell and the like call themselves so.
bool is_dumb() { return environment_variable("TERM") == "dumb"; }

constexpr auto kStyles = std::to_array<std::string_view>({"\x1b[0m", "\x1b[1m", "\x1b[2m"});

std::string styled(std::string_view code, std::string_view text) {
  return terminal().colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

const Terminal& terminal() {
  static const Terminal found = [] {
    return Terminal{.colour = is_terminal(stdout) && !is_dumb() && environment_variable("NO_COLOR").empty(),
                    .progress = is_terminal(stderr) && !is_dumb(),
                    .unicode = locale_is_unicode(),
                    .width = window_width()};
  }();
  return found;
}

std::string bold(std::string_view text) { return styled("1", text); }
std::string dim(std::string_view text) { return styled("2", text); }

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

// Where the first word ends; "-0.2 ± 0.5 %" is one.
std::size_t word_end(std::string_view text) {
  constexpr std::string_view kPlusMinus = "±";
  std::size_t end = text.find(' ');
  while (end != std::string_view::npos) {
    const std::string_view next = text.substr(end + 1);
    if (!next.starts_with('%') && !next.starts_with(kPlusMinus) && !text.substr(0, end).ends_with(kPlusMinus)) break;
    end = text.find(' ', end + 1);
  }
  return std::min(end, text.size());
}

}  // namespace

std::string wrap(std::string_view sentence, std::size_t width, std::size_t indent) {
  const std::string clean = base::printable(sentence, sentence.size());
  std::string_view text = clean;
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t space = word_end(text);
    const std::string_view word = text.substr(0, space);
    if (used > 0 && used + 1 + columns(word) > width) {
      out.append(1, '\n').append(indent, ' ');
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns(word);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

namespace {

// Windows keeps what a console is sent until there is much of it.
void flush_watched(std::FILE* stream) {
  if (is_terminal(stream)) (void)std::fflush(stream);
}

}  // namespace

void put(std::FILE* stream, std::string_view text) {
  const bool styles = stream == stdout && terminal().colour;
  std::string out;
  while (!text.empty()) {
    const std::size_t escape = styles ? text.find('\x1b', 1) : std::string_view::npos;
    const std::string_view part = text.substr(0, escape);
    const auto* style =
        std::find_if(kStyles.begin(), kStyles.end(), [&](auto s) { return styles && part.starts_with(s); });
    const std::size_t styled = style != kStyles.end() ? style->size() : 0;
    out.append(part.substr(0, styled)).append(base::printable_lines(part.substr(styled)));
    text.remove_prefix(part.size());
  }
  if (std::fwrite(out.data(), 1, out.size(), stream) != out.size()) return;  // the stream remembers
  flush_watched(stream);
}

namespace {
constexpr std::size_t kFactWidth = 80, kFactLabel = 10;
}  // namespace

std::string fact_label(std::string_view label) { return bold(fmt::format("{:<{}}", label, kFactLabel)); }

void print_fact(std::string_view label, std::string_view text) {
  print("{}{}\n", fact_label(label), wrap(text, kFactWidth - kFactLabel, kFactLabel));
}

void show_progress(std::string_view line) {
  if (!terminal().progress) {
    static Pace pace(Pace::Clock::now(), std::chrono::seconds(10));
    if (!line.empty() && pace.is_due(Pace::Clock::now())) note("{}\n", line);
    return;
  }
  const std::string text = "\r\x1b[K" + base::printable(line, terminal().width * 4);
  if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) return;
  flush_watched(stderr);
}

void print_error(std::string_view message, std::string_view hint) {
  note("error: {}\n", base::printable(message, message.size()));
  if (!hint.empty()) note("hint: {}\n", hint);
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "mrrope/probe.h"
#include "probe/report.h"

namespace mrrope::probe {

namespace {

// A length counts as reached from here on: servers keep a few tokens for themselves, and our count may be an estimate.
constexpr double kReached = 0.98, kReachedByEstimate = 0.95;

bool reaches(std::int64_t tokens, std::int64_t length, bool counted) {
  return static_cast<double>(tokens) >= (counted ? kReached : kReachedByEstimate) * static_cast<double>(length);
}

bool is_cut(const Length& length) { return length.read && length.cut != Cut::none; }

// "the last 32768"
std::string part_read(const Length& length) {
  const std::string about = length.read_within > 0 ? "about " : "";
  const std::int64_t read = length.read.value_or(0), first = length.first.value_or(0);
  switch (length.cut) {
    case Cut::none: return "all of it";
    case Cut::front: return fmt::format("the last {}{}", about, read);
    case Cut::back: return fmt::format("the first {}{}", about, read);
    case Cut::middle:
      // What is kept of a beginning may be four tokens or four hundred
      if (first <= length.read_within) return fmt::format("the beginning and the last {}{}", about, read - first);
      return fmt::format("the first {}{} and the last {}{}", about, first, about, read - first);
    case Cut::unknown: break;
  }
  return fmt::format("{} of them", read);
}

}  // namespace

const char* to_string(Cut cut) noexcept {
  switch (cut) {
    case Cut::none: return "none";
    case Cut::front: return "front";
    case Cut::middle: return "middle";
    case Cut::back: return "back";
    case Cut::unknown: break;
  }
  return "unknown";
}

std::string length_line(const Length& length) {
  std::string line = length.advertised ? fmt::format("advertised {}", *length.advertised) : "advertises no length";
  if (!length.accepted) return line + ", accepts nothing that was tried";
  line += fmt::format(", accepts {}", *length.accepted);
  if (length.cut == Cut::none) return line + ", reads all of it";
  if (length.read) return line + ", reads " + part_read(length);
  if (length.usage_believed && length.usage == length.sent) return line + ", reads all of it by its own count";
  return line + ", reads an unknown part";
}

std::vector<Finding> length_findings(const Length& length) {
  Report report;
  if (!length.advertised) {
    report.add("P102", "the server does not say how long a request may be",
               "give the length that it was started for, and it is compared with that");
  } else if (length.also_advertised && *length.also_advertised != *length.advertised) {
    report.add("P107",
               fmt::format("{} says {} tokens, {} says {}", length.advertised_by, *length.advertised,
                           length.also_advertised_by, *length.also_advertised),
               "clients that read the larger one send prompts that are too long: make them agree");
  }
  if (length.advertised && length.accepted && length.refused &&
      !reaches(*length.accepted, *length.advertised, length.counted)) {
    report.add("P100",
               fmt::format("the server advertises {} tokens ({}) and refuses requests of {}: {}", *length.advertised,
                           length.advertised_by, *length.refused, length.refusal),
               fmt::format("send at most {} tokens, prompt and answer, or start it for more", *length.accepted));
  }
  if (is_cut(length)) {
    const bool promised =
        !length.advertised || !reaches(*length.read + length.read_within, *length.advertised, length.counted);
    report.add(promised ? "P101" : "P105",
               fmt::format("of a prompt of {} tokens the server reads {}, and answers as if it were all", length.sent,
                           part_read(length)),
               promised ? fmt::format("keep prompts below {} tokens, or start the server for the length that is "
                                      "needed (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)",
                                      *length.read)
                        : "count tokens before sending: this server does not refuse what is too long");
  } else if (length.accepted && length.cut == Cut::unknown) {
    report.add("P106", "the server answers, and its answers do not tell how much of a prompt it reads",
               "ask a server that gives log probabilities, or compare with a model that answers questions");
  }
  if (length.usage && length.counted && !is_cut(length) && *length.usage != length.sent) {
    report.add("P103", fmt::format("the server counts {} tokens in a prompt of {}", *length.usage, length.sent),
               "do not pay or plan by its usage; check that its tokenizer is the model's own");
  }
  if (length.advertised && length.accepted && *length.accepted > *length.advertised && !is_cut(length)) {
    report.add(
        "P104",
        fmt::format("the server advertises {} tokens and answers requests of {}", *length.advertised, *length.accepted),
        "beyond the length it advertises nothing is promised: its table may end there");
  }
  if (length.refused_status >= 500) {
    report.add("P108", fmt::format("a request that is too long ends in an error of the server: {}", length.refusal),
               "clients will repeat it; put a limit in front of the server");
  }
  return std::move(report.findings);
}

}  // namespace mrrope::probe

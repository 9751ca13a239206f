// SPDX-License-Identifier: MIT
//
// Edits applied to a header, with what the writers need to know besides the header itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mrrope/gguf.h"

namespace mrrope::formats {

// Fills a header up so that the data behind it need not move (gguf_in_place.cpp). Reserved: edits never see it.
inline constexpr std::string_view kPaddingKey = "mrrope.padding";

// Writers differ in what follows the last tensor: most pad it, some do not. A tensor appended in place pads it in any
// case, so the padding key notes how the file ended before, for the day the tensor is removed again.
struct TailNote {
  std::uint64_t tensors = 0;  // how many there were
  std::uint64_t end = 0;      // of the file, from the start of the data; without tensors, from the end of the header
  bool operator==(const TailNote&) const = default;
};
// "tail 291 1073741824", and back. The text of the padding key, before the blanks.
std::string to_text(const TailNote& note);
std::optional<TailNote> tail_note(const GgufValue& padding);

struct Edited {
  GgufFile file;           // without the padding key, and with data_offset where the header naturally ends
  std::uint64_t kept = 0;  // the first bytes of the old data section, which stay; new tensors follow
  std::optional<TailNote> note;
};

// Without edits the file comes back as it is, padding key included.
Result<Edited> apply_edits(const GgufFile& file, const GgufEdits& edits);

// Lets the header end at `anchor` plus a multiple of `unit`, the least that holds it, by means of the padding key. That
// it is the least makes undoing exact: the old header gets its old end back.
void fit_header(Edited& now, std::uint64_t anchor, std::uint64_t unit);

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
#include "measure/meter.h"

#include <utility>

namespace mrrope::eval {

Meter::Meter(const Control& control, std::size_t items, std::int64_t tokens_total)
    : control_(control), last_(std::chrono::steady_clock::now()) {
  progress_.items = items;
  progress_.tokens_total = tokens_total;
}

void Meter::start(std::string what) {
  ++progress_.item;
  progress_.what = std::move(what);
  if (control_.progress) control_.progress(progress_);
}

void Meter::advance(std::int64_t tokens) {
  progress_.tokens += tokens;
  const auto now = std::chrono::steady_clock::now();
  const bool last = progress_.tokens >= progress_.tokens_total;  // who watches may want to clear up
  if (!control_.progress || (!last && now - last_ < std::chrono::milliseconds(200))) return;
  last_ = now;
  control_.progress(progress_);
}

void Meter::skip(std::int64_t tokens) {
  ++progress_.item;
  progress_.tokens_total -= tokens;
}

void Meter::expect(std::int64_t tokens) {
  ++progress_.items;
  progress_.tokens_total += tokens;
}

bool Meter::cancelled() const { return control_.cancel != nullptr && control_.cancel->load(); }

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include "servers/question.h"

#include <utility>
#include <vector>

#include "servers/api.h"

namespace mrrope::servers {

namespace {

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Result<Exchanged> exchange(Transfers& transfers, const ServerOptions& options, const ServerUrl& server,
                           HttpRequest request, const std::atomic<bool>* cancel) {
  const Transfers::Id id = transfers.start(std::move(request));
  for (;;) {
    if (cancel != nullptr && *cancel) return Error{ErrorCode::cancelled, "cancelled", ""};
    for (Transfers::Finished& finished : transfers.wait(kLook)) {
      if (finished.id != id) continue;  // of a question that was cancelled
      if (!finished.response) return no_answer(options, server, finished.response.error()).error;
      return Exchanged{*std::move(finished.response), finished.seconds};
    }
  }
}

}  // namespace mrrope::servers

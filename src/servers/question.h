// SPDX-License-Identifier: MIT
//
// One question at a time, waited for: what is asked beside a run of requests.
#pragma once

#include <atomic>
#include <string>

#include "mrrope/servers.h"
#include "servers/transfer.h"
#include "servers/url.h"

namespace mrrope::servers {

struct Exchanged {
  HttpResponse response;
  double seconds = 0;  // from the name of the host to the last byte
};

// Errors: cancelled; whatever kept the answer from coming, without the key and with the server's URL as `where`.
Result<Exchanged> exchange(Transfers& transfers, const ServerOptions& options, const ServerUrl& server,
                           HttpRequest request, const std::atomic<bool>* cancel);

}  // namespace mrrope::servers

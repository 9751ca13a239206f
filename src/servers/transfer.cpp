// SPDX-License-Identifier: MIT
//
// What libcurl does not bound by itself is bounded here: the sum of all header lines (interim answers included) and the
// body. Redirects are not followed, answers are not decompressed, and only HTTP/1.1 is spoken: there is nothing in the
// later versions for a dozen long requests.
#include "servers/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "mrrope/version.h"

namespace mrrope::servers {

namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;
// A host that does not take a connection by then is not there.
constexpr double kConnectSeconds = 10;

struct Transfer {
  HttpRequest request;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::size_t header_bytes = 0;
  std::string body;
  std::string problem;  // why we ended it
  std::array<char, CURL_ERROR_SIZE> curl_says = {};

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

// Both callbacks end the transfer by taking fewer bytes than they were given.
std::size_t on_header(char*, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.header_bytes += size;
  if (transfer.header_bytes <= kMaxHeaderBytes) return size;
  transfer.problem = fmt::format("the headers of the answer have more than {} bytes", kMaxHeaderBytes);
  return 0;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (size <= transfer.request.most - transfer.body.size()) {
    transfer.body.append(bytes, size);
    return size;
  }
  transfer.problem = fmt::format("the answer has more than {} bytes", transfer.request.most);
  return 0;
}

void set_up(Transfer& transfer) {
  CURL* easy = transfer.easy;
  const HttpRequest& request = transfer.request;
  const auto milliseconds = [](double seconds) { return static_cast<long>(std::max(1.0, seconds * 1000)); };

  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "mrrope/" MRROPE_VERSION);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.curl_says.data());

  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.deadline_s));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(std::min(kConnectSeconds, request.deadline_s)));
  // Long prompts are silent for minutes: routers must not forget the connection, and a dead host should be noticed.
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // cancelling does not wait for a slow name server
#endif

  // As the curl program does; the library does not look at them.
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const char* file = std::getenv(name); file != nullptr && *file != 0) {  // NOLINT(concurrency-mt-unsafe)
      curl_easy_setopt(easy, CURLOPT_CAINFO, file);
      break;
    }
  }

  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);

  transfer.headers = curl_slist_append(transfer.headers, "Accept: application/json");
  // Not "Expect: 100-continue", which makes curl wait a second for servers that do not know it.
  transfer.headers = curl_slist_append(transfer.headers, "Expect:");
  if (request.body != nullptr) {
    transfer.headers = curl_slist_append(transfer.headers, "Content-Type: application/json");
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());  // not copied
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
  }
  if (!request.api_key.empty()) {
    transfer.headers = curl_slist_append(transfer.headers, ("Authorization: Bearer " + request.api_key).c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
}

Error failure_of(const Transfer& transfer, CURLcode code) {
  if (!transfer.problem.empty()) return {ErrorCode::malformed, transfer.problem, ""};
  if (code == CURLE_OPERATION_TIMEDOUT) {
    long sent = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_REQUEST_SIZE, &sent);
    return {ErrorCode::io,
            sent > 0 ? fmt::format("no complete answer within {} s", transfer.request.deadline_s)
                     : fmt::format("no connection within {} s", std::min(kConnectSeconds, transfer.request.deadline_s)),
            ""};
  }
  return {ErrorCode::io, transfer.curl_says[0] != 0 ? transfer.curl_says.data() : curl_easy_strerror(code), ""};
}

HttpResponse response_of(Transfer& transfer) {
  HttpResponse response;
  long status = 0;
  curl_off_t retry_after = 0;
  const char* text = nullptr;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &retry_after);
  response.status = static_cast<int>(status);
  response.retry_after_s = static_cast<double>(std::max<curl_off_t>(0, retry_after));
  if (curl_easy_getinfo(transfer.easy, CURLINFO_CONTENT_TYPE, &text) == CURLE_OK && text != nullptr) {
    response.content_type = text;
  }
  if (curl_easy_getinfo(transfer.easy, CURLINFO_REDIRECT_URL, &text) == CURLE_OK && text != nullptr) {
    response.redirect = text;
  }
  response.body = std::move(transfer.body);
  return response;
}

}  // namespace

struct Transfers::Impl {
  CURLM* multi = nullptr;
  Id next = 1;
  std::unordered_map<Id, std::unique_ptr<Transfer>> running;
  std::unordered_map<CURL*, Id> ids;
  std::vector<Finished> failed_to_start;

  explicit Impl(CURLM* handle) : multi(handle) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const auto& [id, transfer] : running) curl_multi_remove_handle(multi, transfer->easy);
    running.clear();
    curl_multi_cleanup(multi);
  }

  void collect(std::vector<Finished>& finished) {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message is gone after remove_handle
      const auto id = ids.find(message->easy_handle);
      const auto found = running.find(id->second);
      Transfer& transfer = *found->second;
      double seconds = 0;
      curl_easy_getinfo(transfer.easy, CURLINFO_TOTAL_TIME, &seconds);
      curl_multi_remove_handle(multi, transfer.easy);
      finished.push_back({id->second, seconds,
                          code == CURLE_OK ? Result<HttpResponse>(response_of(transfer)) : failure_of(transfer, code)});
      running.erase(found);
      ids.erase(id);
    }
  }
};

Transfers::Transfers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transfers::Transfers(Transfers&&) noexcept = default;
Transfers& Transfers::operator=(Transfers&&) noexcept = default;
Transfers::~Transfers() = default;

Result<Transfers> Transfers::create() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);  // once; the process ends with it
  CURLM* multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi == nullptr) return Error{ErrorCode::io, "libcurl cannot be started", ""};
  return Transfers(std::make_unique<Impl>(multi));
}

Transfers::Id Transfers::start(HttpRequest request) {
  const Id id = impl_->next++;
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->easy = curl_easy_init();
  if (transfer->easy != nullptr) set_up(*transfer);
  if (transfer->easy == nullptr || curl_multi_add_handle(impl_->multi, transfer->easy) != CURLM_OK) {
    impl_->failed_to_start.push_back({id, 0, Error{ErrorCode::io, "libcurl cannot start a transfer", ""}});
    return id;
  }
  impl_->ids.emplace(transfer->easy, id);
  impl_->running.emplace(id, std::move(transfer));
  return id;
}

std::vector<Transfers::Finished> Transfers::wait(std::chrono::milliseconds patience) {
  std::vector<Finished> finished = std::exchange(impl_->failed_to_start, {});
  int running = 0;
  curl_multi_perform(impl_->multi, &running);
  impl_->collect(finished);
  if (!finished.empty()) return finished;
  curl_multi_poll(impl_->multi, nullptr, 0, static_cast<int>(patience.count()), nullptr);
  curl_multi_perform(impl_->multi, &running);
  impl_->collect(finished);
  return finished;
}

std::size_t Transfers::running() const { return impl_->running.size(); }

}  // namespace mrrope::servers

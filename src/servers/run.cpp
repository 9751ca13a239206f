// SPDX-License-Identifier: MIT
//
// The queue. A request is a Job, and a Job is at one place at a time: in flight, or waiting for another attempt. It
// ends in finish(), and nowhere else, so that it is answered once. Jobs are made when there is room for one: there are
// never more than places, in flight and waiting together.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>

#include "mrrope/servers.h"
#include "servers/api.h"
#include "servers/check.h"
#include "servers/health.h"
#include "servers/prompt_scores.h"
#include "servers/transfer.h"

namespace mrrope {

namespace {

using servers::Clock;
using servers::HttpResponse;
using servers::Reading;
using servers::ServerHealth;
using servers::ServerUrl;
using servers::Transfers;
using servers::Verdict;

using Make = std::function<Result<ServerRequest>(std::size_t)>;
using Done = std::function<Result<void>(std::size_t, const Result<ServerAnswer>&)>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr Clock::duration kFirstPause = std::chrono::milliseconds(200);
constexpr double kProbeSeconds = 10;
// How long a look at the clock and at `cancel` may be put off; the shorter one while something waits for its time.
constexpr std::chrono::milliseconds kLook{100}, kLookOften{20}, kAtOnce{0};

struct Job {
  std::size_t index = 0;
  std::shared_ptr<const std::string> body;
  servers::Asked asked;
  int attempts = 0;
  std::size_t last_server = kNone;
  Clock::time_point not_before = {};
};

struct Server {
  ServerUrl url;
  ServerHealth health;
  int in_flight = 0;
  Transfers::Id probe = 0;  // 0: none
  Error trouble = {};       // the last
  bool reported = false;    // that it is aside
};

class Run {
 public:
  Run(const ServerOptions& options, std::size_t n, const Make& make, const Done& done, const std::atomic<bool>* cancel,
      const std::vector<ServerUrl>& urls, Transfers transfers)
      : options_(options), n_(n), make_(make), done_(done), cancel_(cancel), transfers_(std::move(transfers)) {
    for (const ServerUrl& url : urls) servers_.push_back({url, ServerHealth(options.concurrency)});
    places_ = urls.size() * static_cast<std::size_t>(options.concurrency);
  }

  Result<void> run() {
    while (answered_ < n_) {
      if (cancel_ != nullptr && *cancel_) return Error{ErrorCode::cancelled, "cancelled", ""};
      now_ = Clock::now();
      probe_servers();
      const bool given = hand_out();
      if (end_) return *end_;
      if (const auto ok = check_somebody_left(); !ok) return ok.error();
      const bool something_waits = !waiting_.empty() || flights_.empty();
      const auto patience = given ? kAtOnce : something_waits ? kLookOften : kLook;
      for (Transfers::Finished& finished : transfers_.wait(patience)) {
        now_ = Clock::now();
        take_back(finished);
        if (end_) return *end_;
      }
    }
    return {};
  }

 private:
  struct Flight {
    Job job;
    std::size_t server = 0;
  };

  // ---- Servers that are aside ---------------------------------------------------------------------------------------

  void probe_servers() {
    for (Server& server : servers_) {
      if (server.probe != 0 || !server.health.probe_due(now_)) continue;
      server.probe = transfers_.start({.url = server.url.at("/v1/models"),
                                       .api_key = options_.api_key,
                                       .deadline_s = std::min(kProbeSeconds, options_.deadline_s)});
    }
  }

  void probed(Server& server, const Result<HttpResponse>& response) {
    server.probe = 0;
    if (response && response->status >= 500) server.health.seen();
    const Reading reading = response ? servers::read_probe(options_, server.url, *response)
                                     : servers::no_answer(options_, server.url, response.error());
    if (reading.verdict != Verdict::answer) return failed(server, reading.error);
    server.health.back();
    server.trouble = {};
    dark_since_.reset();
    if (std::exchange(server.reported, false) && options_.on_health) options_.on_health(server.url.given, "");
  }

  void failed(Server& server, const Error& error) {
    server.trouble = error;
    server.health.failed(now_, random_);
    if (server.health.trusted() || std::exchange(server.reported, true)) return;
    if (options_.on_health) options_.on_health(server.url.given, error.message);
  }

  // No server has ever been reached, or all have been silent for too long.
  Result<void> check_somebody_left() {
    const auto open = [&](const Server& server) { return server.health.window(now_) > 0; };
    if (!flights_.empty() || std::any_of(servers_.begin(), servers_.end(), open)) return {};
    if (!dark_since_) dark_since_ = now_;
    const bool hopeless =
        std::all_of(servers_.begin(), servers_.end(), [](const Server& s) { return s.health.hopeless(); });
    if (!hopeless && std::chrono::duration<double>(now_ - *dark_since_).count() < options_.patience_s) return {};
    std::string message =
        hopeless ? "no server can be reached" : fmt::format("no server has answered for {} s", options_.patience_s);
    std::size_t named = 0;
    for (const Server& server : servers_) {
      if (server.trouble.message.empty() || ++named > 3) continue;
      message += fmt::format("; {}: {}", server.url.given, server.trouble.message);
    }
    if (named > 3) message += fmt::format("; and {} more", named - 3);
    return Error{ErrorCode::io, std::move(message), ""};
  }

  // ---- Jobs go out --------------------------------------------------------------------------------------------------

  // One job to each server that has a place, the least busy first; true if there was one. What a job is made of may
  // take time, and the first should be on its way before the last is made.
  bool hand_out() {
    std::vector<std::size_t> order(servers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return servers_[a].in_flight < servers_[b].in_flight; });
    bool given = false;
    for (const std::size_t s : order) {
      if (end_ || servers_[s].in_flight >= servers_[s].health.window(now_)) continue;
      std::optional<Job> job = next_job(s);
      if (!job) continue;
      given = true;
      start(s, *std::move(job));
    }
    return given;
  }

  // What failed elsewhere comes first, then what is new; what failed here comes back only if there is no other server.
  std::optional<Job> next_job(std::size_t s) {
    const auto elsewhere = [&](std::size_t other) { return other != s && servers_[other].health.window(now_) > 0; };
    bool alone = true;
    for (std::size_t other = 0; other < servers_.size(); ++other) alone = alone && !elsewhere(other);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& job) {
      return job.not_before <= now_ && (alone || job.last_server != s);
    });
    if (found != waiting_.end()) {
      Job job = std::move(*found);
      waiting_.erase(found);
      return job;
    }
    while (next_ < n_ && now_ >= make_again_ && waiting_.size() + flights_.size() < places_ && !end_) {
      const Result<ServerRequest> request = make_(next_);
      if (!request && put_off(request.error())) return std::nullopt;
      make_failures_ = 0;
      const std::size_t index = next_++;
      Result<std::string> body =
          request ? servers::request_body(options_, *request) : Result<std::string>(request.error());
      if (body) {
        return Job{.index = index,
                   .body = std::make_shared<const std::string>(*std::move(body)),
                   .asked = {request->answer_prefix, request->tokens, request->fills_context}};
      }
      finish(index, std::move(body).error());
    }
    return std::nullopt;
  }

  // Whoever makes a request may need a server, too, to count its tokens; one that is away is waited for here as well.
  bool put_off(const Error& error) {
    if (error.code != ErrorCode::io && error.code != ErrorCode::cancelled) return false;
    now_ = Clock::now();
    if (make_failures_ == 0) make_failing_since_ = now_;
    const bool too_long = std::chrono::duration<double>(now_ - make_failing_since_).count() >= options_.patience_s;
    if (error.code == ErrorCode::cancelled || too_long) end_ = error;
    make_again_ = now_ + servers::pause(kFirstPause, make_failures_++, random_);
    return true;
  }

  void start(std::size_t s, Job job) {
    Server& server = servers_[s];
    ++server.in_flight;
    ++job.attempts;
    job.last_server = s;
    const Transfers::Id id = transfers_.start({.url = server.url.at(servers::completions_path(options_)),
                                               .body = job.body,
                                               .api_key = options_.api_key,
                                               .deadline_s = options_.deadline_s,
                                               .most = servers::most_bytes(job.asked)});
    flights_.emplace(id, Flight{std::move(job), s});
  }

  // ---- Jobs come back -----------------------------------------------------------------------------------------------

  void take_back(Transfers::Finished& finished) {
    for (Server& server : servers_) {
      if (server.probe == finished.id) return probed(server, finished.response);
    }
    const auto found = flights_.find(finished.id);
    Flight flight = std::move(found->second);
    flights_.erase(found);
    Server& server = servers_[flight.server];
    --server.in_flight;
    Reading reading = finished.response
                          ? servers::read_answer(options_, server.url, *finished.response, flight.job.asked)
                          : servers::no_answer(options_, server.url, finished.response.error());
    switch (reading.verdict) {
      case Verdict::answer:
        alive(server);
        reading.answer.server = server.url.given;
        reading.answer.seconds = finished.seconds;
        reading.answer.attempts = flight.job.attempts;
        return finish(flight.job.index, std::move(reading.answer));
      case Verdict::refused: alive(server); return finish(flight.job.index, std::move(reading.error));
      case Verdict::busy:
        server.trouble = reading.error;
        server.health.busy(now_, finished.response->retry_after_s, random_);
        return try_again(std::move(flight.job), std::move(reading.error));
      case Verdict::again:
        failed(server, reading.error);
        return try_again(std::move(flight.job), std::move(reading.error));
      case Verdict::stop: end_ = std::move(reading.error); return;
    }
  }

  void alive(Server& server) {
    server.health.answered();
    dark_since_.reset();
  }

  void try_again(Job job, Error error) {
    if (job.attempts >= options_.attempts) {
      if (job.attempts > 1) error.message += fmt::format(" ({} attempts)", job.attempts);
      return finish(job.index, std::move(error));
    }
    job.not_before = now_ + servers::pause(kFirstPause, job.attempts - 1, random_);
    waiting_.push_back(std::move(job));
  }

  void finish(std::size_t index, const Result<ServerAnswer>& answer) {
    ++answered_;
    if (const auto ok = done_(index, answer); !ok) end_ = ok.error();
  }

  const ServerOptions& options_;
  std::size_t n_;
  const Make& make_;
  const Done& done_;
  const std::atomic<bool>* cancel_;
  Transfers transfers_;
  std::vector<Server> servers_;
  std::size_t places_ = 0;

  std::unordered_map<Transfers::Id, Flight> flights_;
  std::deque<Job> waiting_;
  std::size_t next_ = 0;      // the first index that was not made
  std::size_t answered_ = 0;  // calls of done
  std::optional<Error> end_;  // the run is over
  std::optional<Clock::time_point> dark_since_;
  int make_failures_ = 0;  // in a row
  Clock::time_point make_failing_since_ = {}, make_again_ = {};
  Clock::time_point now_ = Clock::now();
  // Spreads pauses. By the clock: a random_device throws where there is no /dev/urandom
  std::minstd_rand random_{static_cast<unsigned>(Clock::now().time_since_epoch().count())};
};

}  // namespace

Result<void> run_requests(const ServerOptions& options, std::size_t n, const Make& make, const Done& done,
                          const std::atomic<bool>* cancel) {
  const Result<std::vector<ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  Result<Transfers> transfers = Transfers::create();
  if (!transfers) return transfers.error();
  return Run(options, n, make, done, cancel, *urls, *std::move(transfers)).run();
}

}  // namespace mrrope

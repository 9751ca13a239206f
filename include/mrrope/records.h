// SPDX-License-Identifier: MIT
//
// What a measurement leaves behind: a folder that can be continued, compared and reported.
//
//   run/run.json        RunInfo: what was measured, with what, on what
//   run/records.jsonl   one Record per line, appended and synced as soon as it is known
//
//   Result<RunFolder> run = RunFolder::open("run", info);    // makes it, or continues it
//   if (!run->find(key)) run->append(record);                // a killed process loses at most the item in flight
//
// A record is known by its key: a hash of everything that decides its value (model, plan, text, settings, protocol, and
// mrrope's version).
// Asking for the same again costs nothing, asking for more adds to the folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::eval {

inline constexpr std::string_view kRecordSchema = "mrrope.record/1";
inline constexpr std::string_view kRunSchema = "mrrope.run/1";
// Of one line of records.jsonl. Longer ones are refused before memory is taken for them.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;

// A document that was read: how likely its tokens were. Sums, not means, so that records can be put together.
struct Reading {
  // ppl: over the first `length` tokens. gap: `length` is the distance. Ascending.
  struct Point {
    std::int64_t length = 0;
    std::int64_t predicted = 0;  // how many tokens were predicted
    double nll = 0;              // sum of their -ln p, nats
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points = {};
  // ppl: sums over consecutive stretches of `bucket` tokens, for curves; the last may be shorter.
  std::int64_t bucket = 0;
  std::vector<double> bucket_nll = {};
  // Against the unextended model, over the first `kl_tokens`: sum of KL(unextended || this), nats. 0 tokens: not asked.
  std::int64_t kl_tokens = 0;
  double kl = 0;
  // What was really computed, read back from the engine: angular speeds of the layers that reach farthest (of a model
  // with sliding layers: of the others), and their scale.
  std::vector<double> inv_freq = {};
  double attention_scale = 1;
  bool operator==(const Reading&) const = default;
};

// How likely the right answer was after a prompt, whatever the model said (docs/evaluation.md).
struct RightAnswer {
  double nll = 0;           // -ln p, nats; where several spellings are right: of any of them
  std::int64_t tokens = 0;  // of the likeliest spelling
  bool operator==(const RightAnswer&) const = default;
};

// A sample of a task that was answered. There are a million of them.
struct Answer {
  std::int64_t length = 0;         // the budget of tokens that was asked for
  std::int64_t index = 0;          // of the sample
  double depth = -1;               // of its (first) needle, 0 … 1 of the prompt's tokens; negative: none
  double asked_depth = -1;         // of the text around it, as asked for; negative: was not
  std::int64_t prompt_tokens = 0;  // really sent, with BOS and template
  std::int64_t new_tokens = 0;
  std::string text = {};    // what the model said
  std::string finish = {};  // "stop" or "length"
  std::vector<std::string> references = {};
  // What its file says of the item that was asked about: {"id": "66f…", "domain": "Code", "difficulty": "hard"}
  std::map<std::string, std::string> labels = {};
  double score = 0;                           // 0 … 1 by the task's rule
  std::map<std::string, double> others = {};  // other rules beside it: {"content_recall": 0.71}
  std::optional<RightAnswer> right = {};      // none: a server does not tell, or no token says it
  std::string rotation = {};                  // rotation_hash() of what was computed; empty: the engine does not say
  bool operator==(const Answer&) const = default;
};

// One scored item under a plan.
struct Record {
  std::string key;
  std::string task;           // "ppl", "gap", "niah_single_2"
  std::string method;         // as spelt, "mrrope-pro"
  double factor = 1;          // S of the plan; 1 for "none"; of a ladder that of its last rung
  std::string document;       // for people: a file's name
  std::string document_hash;  // of a sample: of its prompt, so that plans are compared on the same samples
  std::variant<Reading, Answer> result;
  double seconds = 0;     // of the pass or the request; not part of any result
  std::string rung = {};  // of a ladder: which one it was ("16k"); empty: a plan, or the file as it is

  [[nodiscard]] const Reading* reading() const noexcept { return std::get_if<Reading>(&result); }
  [[nodiscard]] const Answer* answer() const noexcept { return std::get_if<Answer>(&result); }
  [[nodiscard]] Reading* reading() noexcept { return std::get_if<Reading>(&result); }
  [[nodiscard]] Answer* answer() noexcept { return std::get_if<Answer>(&result); }
  bool operator==(const Record&) const = default;
};

// One line, no line break. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const Record& record);
// Errors: more than kMaxRecordBytes; ErrorCode::unsupported for a record of another version of mrrope.
Result<Record> record_from_json(std::string_view text);

// What produced a number. Everything a reader needs to repeat it.
struct RunInfo {
  std::string task;
  std::string model;         // for people: a file's name
  std::string model_hash;    // content_hash() of the file
  std::string architecture;  // "llama"
  std::int64_t context_trained = 0;
  std::string engine;                                // "llama.cpp 0.5.0", "/v1/completions"
  std::string version = {};                          // of mrrope
  std::string machine = {};                          // processor and cores
  std::string started = {};                          // UTC, ISO 8601
  std::map<std::string, std::string> settings = {};  // that change a number, by flag: {"cache-type-k": "f16"}
  std::vector<std::string> command = {};

  bool served = false;  // on servers: each plan is a model of its own, and `model` only the first of them
  bool operator==(const RunInfo&) const = default;
};
std::string to_json(const RunInfo& info);
Result<RunInfo> run_info_from_json(std::string_view text);

// Numbers that were measured in different ways do not belong in one table. What differs of the engine and of the
// settings that both have: "cache-type-k f16, not q8_0", "llama.cpp 0.5.0, not llama.cpp 0.6.0"; empty: nothing.
std::string different_setting(const RunInfo& run, const RunInfo& other);

class RunFolder {
 public:
  // Makes the folder, or continues one of the same task, model and settings. Errors: a folder of others, or one that
  // another process is writing; records without a run.json; a record that is damaged anywhere but in the last line, or
  // of another version. A last line that was cut off (a process was killed, a disk was full) is taken away; its item is
  // simply missing, and was_torn() says so.
  static Result<RunFolder> open(const std::string& path, const RunInfo& info);
  // To look at; nothing is changed on disk, a last line that was cut off is ignored.
  static Result<RunFolder> read(const std::string& path);

  [[nodiscard]] const RunInfo& info() const noexcept { return info_; }
  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }
  [[nodiscard]] const Record* find(std::string_view key) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool was_torn() const noexcept { return torn_; }

  // On disk when it returns. After an error (a full disk, a score that is not a number) the file holds what it held
  // before.
  [[nodiscard]] Result<void> append(const Record& record);

  RunFolder(RunFolder&&) noexcept;
  RunFolder& operator=(RunFolder&&) noexcept;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

 private:
  struct Log;  // the open file; none if only read
  RunFolder();
  [[nodiscard]] Result<void> load();

  std::string path_;
  RunInfo info_;
  std::vector<Record> records_;
  std::map<std::string, std::size_t, std::less<>> by_key_;
  std::uint64_t good_bytes_ = 0;  // of records.jsonl: up to the last complete line
  bool torn_ = false;             // there was more
  std::unique_ptr<Log> log_;
};

// 128 bits as hex digits (XXH3).
std::string content_hash(std::string_view bytes);
// 64 bits as hex digits, equal for tables that are equal bit by bit: tells two runs of "the same" plan apart.
std::string rotation_hash(std::span<const double> inv_freq, double attention_scale);
// Of a file: all of it up to 1 GiB; beyond that its size, its first and last 64 MiB and 64 pieces of 1 MiB in between,
// so that a model of 400 GB is known in a second.
Result<std::string> content_hash_of_file(const std::string& path);

}  // namespace mrrope::eval

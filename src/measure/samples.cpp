// SPDX-License-Identifier: MIT
#include "measure/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "mrrope/version.h"

namespace mrrope::eval {

namespace {

// Spreads numbers in a row over all bits (the last step of SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Whose a sample is. Each run of `shards` samples gives every shard one, in an order that turns from run to run: in a
// fixed order, with as many depths as shards, a shard has a single depth. Tasks and lengths begin at different shards,
// so that few samples fill all of them.
std::int64_t shard_of(const Task& task, std::int64_t length, std::int64_t index, std::int64_t shards) {
  auto place = static_cast<std::uint64_t>(length);
  for (const char c : task.name) place = place * 31 + static_cast<unsigned char>(c);
  const auto count = static_cast<std::uint64_t>(shards);
  const auto at = static_cast<std::uint64_t>(index);
  return static_cast<std::int64_t>((place % count + at + mixed(at / count) % count) % count);
}

}  // namespace

// What a sample is and whose does not depend on how many are asked for: more of them take up what is there.
Result<std::vector<SampleSlot>> slots_of(const BenchmarkOptions& options, const Task& task, std::size_t items) {
  if (options.shard < 0 || options.shard >= options.shards) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected i/n with i from 0 to n - 1, found {}/{}", options.shard, options.shards), "",
                 "shard"};
  }
  const bool from_file = task.needs == TaskNeeds::items || items > 0;
  const std::int64_t samples =
      from_file ? std::min(options.samples, static_cast<std::int64_t>(items)) : options.samples;
  std::vector<SampleSlot> slots;
  const int depths = std::max(options.depths, 1);
  for (const std::int64_t length : options.lengths) {
    for (int d = 0; d < depths; ++d) {
      for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t index = i * depths + d;
        if (shard_of(task, length, index, options.shards) != options.shard) continue;
        SampleSlot slot{&task, {.length = length, .seed = options.seed, .index = index}};
        if (options.depths > 0) slot.request.depth = depths > 1 ? static_cast<double>(d) / (depths - 1) : 0.5;
        slots.push_back(slot);
      }
    }
  }
  return slots;
}

std::string answer_key(const RunInfo& info, const std::string& candidate_text, const std::string& texts_hash,
                       const BenchmarkOptions& options, const SampleSlot& slot) {
  std::string text = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{} {} {} {}\n", MRROPE_VERSION, info.task, info.model_hash, candidate_text,
      texts_hash, options.frame.before,
      options.frame.after + (options.letters ? "letters" : "") + (options.brief ? "brief" : ""), slot.task->name,
      slot.request.length, slot.request.seed, slot.request.index, slot.request.depth.value_or(-1));
  for (const auto& [flag, value] : info.settings) text += fmt::format("{}={}\n", flag, value);
  return content_hash(text);
}

std::string hash_of(const Task& task, const TaskTexts& texts) {
  std::string all;
  const auto add = [&all](std::string_view text) { all += content_hash(text); };
  const auto add_list = [&](const std::vector<std::string>& list) {
    for (const std::string& text : list) add(text);
    all += fmt::format("{}\n", list.size());
  };
  if (task.name == "cwe") add_list(texts.words);
  if (task.needs == TaskNeeds::haystack) add(texts.haystack);
  if (task.needs == TaskNeeds::questions) {
    add_list(texts.documents);
    for (const Question& q : texts.questions) {
      add(q.question);
      add_list(q.answers);
      all += fmt::format("{} {}\n", fmt::join(q.documents, ","), q.gold);
    }
  }
  for (const Item& item : items_of(texts, task)) {
    add(item.context);
    add(item.question);
    add_list(item.options);
    add_list(item.answers);
  }
  return content_hash(all);
}

Record record_of(const Task& task, const Sample& sample) {
  Record record;
  record.task = task.name;
  record.document = fmt::format("seed {}, sample {}", sample.request.seed, sample.request.index);
  record.document_hash = content_hash(sample.prompt + sample.answer_prefix);
  Answer answer;
  answer.length = sample.request.length;
  answer.index = sample.request.index;
  answer.depth = sample.depth;
  answer.asked_depth = sample.request.depth.value_or(-1);
  answer.references = sample.references;
  answer.labels = sample.labels;
  record.result = std::move(answer);
  return record;
}

void score_into(const Task& task, const Sample& sample, std::string text, Record& record) {
  record.answer()->score = score_answer(task, sample, text);
  record.answer()->others = other_scores(task, sample, text);
  record.answer()->text = std::move(text);
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Prompts of long-context tasks, made to the length that a tokenizer in Python counts.
#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "measure/samples.h"
#include "mrrope/records.h"
#include "mrrope/tasks.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

// A sample with the task that scores it.
struct Prompt {
  const eval::Task* task = nullptr;
  eval::Sample sample;
};

const eval::Task& task_of(std::string_view name) {
  const eval::Task* task = eval::find_task(name);
  if (task == nullptr) raise({ErrorCode::invalid_argument, fmt::format("there is no task \"{}\"", name), "tasks"});
  return *task;
}

Prompt made(std::string_view name, std::string haystack, nb::object length, std::uint64_t seed, std::int64_t index,
            std::int64_t frame_tokens, const nb::typed<nb::callable, std::int64_t(nb::str)>& count,
            std::optional<double> depth) {
  const eval::Task& task = task_of(name);
  // What the tokenizer throws goes through the generators, which hold nothing that its way up would leave behind
  const eval::TokenCount counted = [&](std::string_view piece) -> Result<std::int64_t> {
    return nb::cast<std::int64_t>(count(text(piece)));
  };
  require(!depth || (*depth >= 0 && *depth <= 1), "depth", "expected 0 to 1");
  const eval::SampleRequest request{
      .length = tokens(length, "length"), .seed = seed, .index = index, .depth = depth, .frame_tokens = frame_tokens};
  return {&task, value(eval::make_sample(task, {.haystack = std::move(haystack)}, request, counted))};
}

// A sample that is asked for: length, index, depth.
using Slot = std::tuple<std::int64_t, std::int64_t, std::optional<double>>;

std::vector<Slot> slots(std::string_view name, std::vector<std::int64_t> lengths, std::int64_t samples, int depths,
                        std::int64_t shard, std::int64_t shards) {
  const eval::BenchmarkOptions options{.tasks = {},
                                       .lengths = std::move(lengths),
                                       .samples = samples,
                                       .depths = depths,
                                       .shard = shard,
                                       .shards = shards};
  std::vector<Slot> out;
  for (const eval::SampleSlot& slot : value(eval::slots_of(options, task_of(name), 0))) {
    out.emplace_back(slot.request.length, slot.request.index, slot.request.depth);
  }
  return out;
}

}  // namespace

void bind_tasks(nb::module_& m) {
  nb::class_<Prompt>(m, "Sample", "A prompt of a task, with its right answers and the rule that scores one.")
      .def_prop_ro("prompt", [](const Prompt& self) { return text(self.sample.prompt); })
      .def_prop_ro(
          "answer_prefix", [](const Prompt& self) { return text(self.sample.answer_prefix); },
          "How the assistant's turn begins; without a chat template it follows the prompt.")
      .def_prop_ro(
          "answers", [](const Prompt& self) { return texts(self.sample.answers); },
          nb::sig("def answers(self) -> list[str]"), "Right ones as they follow the prefix, their space included.")
      .def_prop_ro(
          "stops_at_newline", [](const Prompt& self) { return self.task->stops_at_newline; },
          "An answer ends with its first line that is not empty.")
      .def_prop_ro(
          "references", [](const Prompt& self) { return texts(self.sample.references); },
          nb::sig("def references(self) -> list[str]"), "What a scored answer is compared with.")
      .def_prop_ro(
          "max_new_tokens", [](const Prompt& self) { return self.sample.max_new_tokens; }, "Of an answer.")
      .def_prop_ro(
          "depth", [](const Prompt& self) { return self.sample.depth; },
          "Of the first needle, 0 to 1 of the prompt's tokens; negative: there is none.")
      .def_prop_ro(
          "hash", [](const Prompt& self) { return eval::content_hash(self.sample.prompt + self.sample.answer_prefix); },
          "The same for the same prompt, whatever runs it: what records are paired by.")
      .def(
          "score",
          [](const Prompt& self, std::string_view answer) {
            return eval::score_answer(*self.task, self.sample, answer);
          },
          "answer"_a, "By the task's own rule, 0 to 1.")
      .def("__repr__", [](const Prompt& self) {
        return fmt::format("<{}, {} tokens>", self.sample.task, self.sample.prompt_tokens);
      });

  m.def("make_sample", &made, "task"_a, "haystack"_a, "length"_a, "seed"_a, "index"_a, "frame_tokens"_a, "count"_a,
        "depth"_a = nb::none(),
        "A prompt that fits `length` tokens with its frame and its answer. `count` says how many tokens a text has.");
  m.def("samples_of", &slots, "task"_a, "lengths"_a, "samples"_a, "depths"_a, "shard"_a, "shards"_a,
        "(length, (index, depth)) of each sample of a shard, as `mrrope eval` divides them.");
  m.def(
      "generated_tasks",
      [](std::string_view group) {
        std::vector<std::string> names;
        for (const eval::Task& task : eval::tasks()) {
          const bool generated = task.needs == eval::TaskNeeds::nothing || task.needs == eval::TaskNeeds::haystack;
          if (task.group == group && generated) names.emplace_back(task.name);
        }
        return names;
      },
      "group"_a, "Names of the tasks of a benchmark that need no file of questions.");
  m.def(
      "built_in_story", [](std::size_t bytes) { return text(eval::built_in_story(bytes)); }, "bytes"_a,
      "Prose of built-in words, for those who bring none.");
}

}  // namespace mrrope::python

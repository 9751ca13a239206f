// SPDX-License-Identifier: MIT
//
// What tools/tune_study.py compares ways of searching with: our space, our search, and losses of a real model.
//
//   tune_driver objective MODEL CONTEXT TEXT   first the cost of every item in tokens, then a line of losses
//                                              "beyond within …" for every "SPELLING FROM TO"
//   tune_driver points MODEL CONTEXT           first the start, then a spelling for every line of coordinates
//   tune_driver search MODEL CONTEXT TABLES SEED
//                                              asks for SPELLINGs, reads losses of all items, ends with "best SPELLING"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "in_process/log_softmax.h"
#include "mrrope/benchmarks.h"
#include "mrrope/mrrope.h"
#include "mrrope/runtime.h"
#include "mrrope/tasks.h"
#include "mrrope/tune.h"

namespace {

using namespace mrrope;

template <class T>
T need(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << "tune_driver: " << to_string(result.error()) << "\n";
  std::exit(1);
}
void need(const Result<void>& result) {
  if (result) return;
  std::cerr << "tune_driver: " << to_string(result.error()) << "\n";
  std::exit(1);
}

// ---- Items ---------------------------------------------------------------------------------------------------------

constexpr int kItems = 8;               // a text, an answer, a text, …: every start of the list has both
constexpr double kAnswerWeight = 0.05;  // of a mean -ln p of an answer beside -ln p per token of texts
constexpr std::int64_t kShortestPrompt = 1024;

struct Item {
  std::vector<Token> tokens;
  std::size_t scored_from = 1;
  bool answer = false;
};

Item make_text(const LlamaModel& model, std::int64_t context, const std::string& text, int index) {
  const std::size_t from = text.size() / (kItems / 2 + 1) * static_cast<std::size_t>(index);
  Item item{need(model.tokenize(text.substr(from, static_cast<std::size_t>(context) * 8)))};
  item.tokens.resize(std::min(item.tokens.size(), static_cast<std::size_t>(context)));
  return item;
}

Item make_answer(const LlamaModel& model, std::int64_t context, const std::string& text, int index) {
  constexpr std::array names = {"passkey", "number_string", "niah_multikey_1"};
  const eval::Task& task = *eval::find_task(names.at(static_cast<std::size_t>(index) % names.size()));
  const std::int64_t length = std::max(kShortestPrompt, context / (index % 2 == 0 ? 4 : 2));
  eval::TaskTexts texts;
  texts.haystack = text.substr(text.size() * 4 / 5);
  const eval::SampleRequest request{.length = length, .seed = 1234, .index = index, .depth = {}};
  const eval::Sample sample = need(eval::make_sample(task, texts, request, eval::token_counter(model)));
  const std::string asked = sample.prompt + sample.answer_prefix;
  const std::vector<Token> prompt = need(model.tokenize(asked));
  Item item{need(model.tokenize(asked + " " + sample.references.front())), 0, true};
  while (item.scored_from < prompt.size() && item.tokens[item.scored_from] == prompt[item.scored_from]) {
    ++item.scored_from;
  }
  return item;
}

// Weighted so that the mean over items is -ln p per token of texts plus 0.05 times the mean -ln p of answers.
tune::Loss loss_of(LlamaContext& context, const Item& item, std::size_t trained) {
  double within = 0;
  double beyond = 0;
  context.clear();
  need(context.decode(item.tokens, {.logits_from = item.scored_from - 1},
                      [&](std::size_t i, std::span<const float> row) {
                        if (i + 1 >= item.tokens.size()) return;
                        const double nll = eval::token_nll(row, static_cast<std::size_t>(item.tokens[i + 1]));
                        (item.answer || i + 1 >= trained ? beyond : within) += nll;
                      }));
  // Either kind is half of the items
  if (item.answer) return {2 * kAnswerWeight * beyond, 0};
  return {2 * beyond / static_cast<double>(item.tokens.size() - trained),
          2 * within / static_cast<double>(trained - 1)};
}

void run_objective(const std::string& path, std::int64_t length, const std::string& text_path) {
  const LlamaModel model = need(LlamaModel::load(path));
  const RopeSpec spec = need(rope_spec(need(read_model(path))));
  std::ostringstream text;
  text << std::ifstream(text_path).rdbuf();
  std::vector<Item> items;
  for (int i = 0; i < kItems; ++i) {
    items.push_back((i % 2 == 0 ? make_text : make_answer)(model, length, text.str(), i / 2));
  }
  LlamaContext context = need(LlamaContext::create(model, {.ctx_size = length, .threads = 1}));
  for (const Item& item : items) std::cout << item.tokens.size() << ' ';
  std::cout << std::endl;
  std::string method;
  std::size_t from = 0;
  std::size_t to = 0;
  while (std::cin >> method >> from >> to) {
    need(context.use(need(make_plan(spec, length, need(parse_method(method))))));
    for (std::size_t i = from; i < to; ++i) {
      const tune::Loss loss = loss_of(context, items.at(i), static_cast<std::size_t>(spec.context_trained));
      std::cout << format_number(loss.beyond) << ' ' << format_number(loss.within) << ' ';
    }
    std::cout << std::endl;
  }
}

// ---- Space and search ----------------------------------------------------------------------------------------------

void run_points(const tune::Space& space) {
  const std::vector<double> start = *space.point_of(MrRopePro{});
  for (const double x : start) std::cout << x << ' ';
  std::cout << std::endl;
  std::vector<double> point(space.axes().size());
  while (true) {
    for (double& x : point) std::cin >> x;
    if (!std::cin) return;
    std::cout << spell(space.at(point)) << std::endl;
  }
}

void run_search(const tune::Space& space, const tune::SearchOptions& options) {
  tune::Search search(space, options);
  while (const std::optional<Method>& method = search.ask()) {
    std::cout << spell(*method) << std::endl;
    std::vector<tune::Loss> losses(options.items);
    for (tune::Loss& loss : losses) std::cin >> loss.beyond >> loss.within;
    if (!std::cin) std::exit(1);
    search.tell(std::move(losses));
  }
  std::cout << "best " << search.best().name() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 3) return 2;
  const std::int64_t length = std::atoll(args[2].c_str());
  if (args[0] == "objective" && args.size() == 4) {
    run_objective(args[1], length, args[3]);
    return 0;
  }
  const tune::Space space = need(tune::Space::of(need(rope_spec(need(read_model(args[1])))), length));
  if (args[0] == "points") {
    run_points(space);
  } else if (args[0] == "search" && args.size() == 5) {
    run_search(space, {.items = kItems,
                       .tokens = 1,
                       .token_budget = std::atoll(args[3].c_str()),
                       .seed = std::strtoull(args[4].c_str(), nullptr, 10)});
  } else {
    return 2;
  }
}

// SPDX-License-Identifier: MIT
#define XXH_INLINE_ALL
#include "mrrope/answers.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "runs/column.h"
#include "runs/differences.h"
#include "runs/numbered.h"
#include "runs/seen.h"

namespace mrrope::eval {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint8_t kCut = 1, kEmpty = 2, kAgain = 4;

struct Place {
  std::size_t task = 0, plan = 0;
  std::int64_t length = 0;
  bool operator<(const Place& other) const {
    return std::tie(task, plan, length) < std::tie(other.task, other.plan, other.length);
  }
};

// The answers of one task, plan and length, in the order of the records. A column is empty while nothing is known.
struct Cell {
  std::size_t number = 0;        // in the order in which they were first seen
  Column<std::uint64_t> sample;  // hash of the prompt's hash
  Column<double> score;
  Column<double> nll;  // of the right answer, nats per token; NaN: not known
  Column<float> depth, asked_depth;
  Column<std::uint32_t> value;      // of the label
  Column<std::uint8_t> flags;       // kAgain: a sample that another value has, too
  Column<std::uint32_t> by_sample;  // places in the columns, sorted; after close()
  Column<std::uint32_t> by_value;   // and by value first; empty without a label

  [[nodiscard]] std::size_t size() const noexcept { return sample.size(); }
};

template <class T>
void put(Column<T>& column, std::size_t place, bool known, T value, T unknown) {
  if (column.empty() && !known) return;
  while (column.size() < place) column.push_back(unknown);
  if (column.size() == place) column.push_back(known ? value : unknown);
}

// Up to the last: what was not known at the end is missing there.
template <class T>
T at(const Column<T>& column, std::size_t i, T unknown) {
  return i < column.size() ? column[i] : unknown;
}

Column<std::uint32_t> sorted_places(const Cell& cell, bool by_value) {
  std::vector<std::uint32_t> places(cell.size());
  std::iota(places.begin(), places.end(), 0U);
  std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (by_value && cell.value[a] != cell.value[b]) return cell.value[a] < cell.value[b];
    return cell.sample[a] != cell.sample[b] ? cell.sample[a] < cell.sample[b] : a < b;
  });
  Column<std::uint32_t> column;
  for (const std::uint32_t place : places) column.push_back(place);
  return column;
}

// Places of a cell that belong to a part, sorted by sample.
struct Selected {
  const Column<std::uint32_t>* places = nullptr;
  std::size_t begin = 0, end = 0;
};

Selected select(const Cell& cell, std::optional<std::size_t> value) {
  if (!value) return {&cell.by_sample, 0, cell.by_sample.size()};
  const auto first_not = [&](auto before) {
    std::size_t low = 0;
    for (std::size_t count = cell.by_value.size(); count > 0;) {
      const std::size_t half = count / 2;
      if (before(cell.value[cell.by_value[low + half]])) {
        low += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return low;
  };
  return {&cell.by_value, first_not([&](std::uint32_t v) { return v < *value; }),
          first_not([&](std::uint32_t v) { return v <= *value; })};
}

SeenHash known(std::uint64_t sample, std::size_t cell, std::size_t value) {
  const std::array<std::uint64_t, 3> parts = {sample, cell, value};
  return seen_hash(XXH3_64bits(parts.data(), sizeof parts));
}

ScoreRow row_of(const Cell& cell, const std::vector<std::uint32_t>& places) {
  std::vector<double> scores;
  std::vector<double> likelihoods;
  std::size_t cut = 0;
  std::size_t empty = 0;
  for (const std::uint32_t i : places) {
    scores.push_back(cell.score[i]);
    if (const double nll = at(cell.nll, i, kUnknown); !std::isnan(nll)) likelihoods.push_back(nll);
    if ((cell.flags[i] & kCut) != 0) ++cut;
    if ((cell.flags[i] & kEmpty) != 0) ++empty;
  }
  const Estimate score = estimate(scores);
  const Estimate nll = estimate(likelihoods);
  const auto n = static_cast<double>(score.n);
  const Interval interval = wilson95(score.mean, score.n);
  return {.task = {},
          .method = {},
          .score = score.mean,
          .stderr_score = score.stderr_mean,
          .low = interval.low,
          .high = interval.high,
          .samples = score.n,
          .cut = static_cast<double>(cut) / n,
          .empty = static_cast<double>(empty) / n,
          .nll = nll.n > 0 ? std::optional(nll.mean) : std::nullopt,
          .stderr_nll = nll.stderr_mean};
}

}  // namespace

struct Answers::Store {
  std::string by;
  PlanNumbers plans;
  Numbered<std::string, std::less<>> tasks, values;
  std::set<std::string> labels;
  std::map<Place, Cell> cells;
  std::unique_ptr<Seen<SeenHash>> seen = std::make_unique<Seen<SeenHash>>();  // until close()

  // A minus b of the samples that both have. `value`: of a place in a cell; NaN: not known.
  template <class Value>
  [[nodiscard]] std::vector<double> differences(const PlanName& a, const PlanName& b, std::int64_t length,
                                                const Part& part, Value value) const {
    std::vector<double> out;
    const auto plan_a = plans.find(a);
    const auto plan_b = plans.find(b);
    if (!plan_a || !plan_b) return out;
    for (std::size_t task = 0; task < tasks.names().size(); ++task) {
      if (part.task && *part.task != task) continue;
      const auto of_a = cells.find({task, *plan_a, length});
      const auto of_b = cells.find({task, *plan_b, length});
      if (of_a != cells.end() && of_b != cells.end()) join(of_a->second, of_b->second, part.value, value, out);
    }
    return out;
  }

  template <class Value>
  static void join(const Cell& a, const Cell& b, std::optional<std::size_t> part, Value value,
                   std::vector<double>& out) {
    const auto [places_a, begin_a, end_a] = select(a, part);
    const auto [places_b, begin_b, end_b] = select(b, part);
    for (std::size_t i = begin_a, k = begin_b; i < end_a && k < end_b;) {
      const std::uint32_t in_a = (*places_a)[i];
      const std::uint32_t in_b = (*places_b)[k];
      if (a.sample[in_a] < b.sample[in_b]) {
        ++i;
      } else if (b.sample[in_b] < a.sample[in_a]) {
        ++k;
      } else {
        const double difference = value(a, in_a) - value(b, in_b);
        if (!std::isnan(difference)) out.push_back(difference);
        // Further ones of the same sample are those of another value
        while (i < end_a && a.sample[(*places_a)[i]] == a.sample[in_a]) ++i;
        while (k < end_b && b.sample[(*places_b)[k]] == b.sample[in_b]) ++k;
      }
    }
  }
};

Answers::Answers(std::string by) : store_(std::make_unique<Store>()) { store_->by = std::move(by); }
Answers::~Answers() = default;
Answers::Answers(Answers&&) noexcept = default;
Answers& Answers::operator=(Answers&&) noexcept = default;

const std::vector<PlanName>& Answers::plans() const noexcept { return store_->plans.names(); }
const std::vector<std::string>& Answers::tasks() const noexcept { return store_->tasks.names(); }
const std::vector<std::string>& Answers::values() const noexcept { return store_->values.names(); }
const std::set<std::string>& Answers::labels() const noexcept { return store_->labels; }

Answers::Added Answers::add(const Record& record) {
  constexpr std::uint32_t kNoValue = std::numeric_limits<std::uint32_t>::max();
  const Answer& answer = *record.answer();
  std::uint32_t value = kNoValue;
  if (!store_->by.empty()) {
    for (const auto& [name, text] : answer.labels) {
      if (!store_->labels.contains(name)) store_->labels.insert(name);
      if (name == store_->by) value = static_cast<std::uint32_t>(store_->values(text));
    }
  }
  const Place place{.task = store_->tasks(record.task),
                    .plan = store_->plans(PlanView{record.method, record.factor}),
                    .length = answer.length};
  const auto [found, is_new] = store_->cells.try_emplace(place);
  Cell& cell = found->second;
  if (is_new) cell.number = store_->cells.size();
  const std::uint64_t sample = XXH3_64bits(record.document_hash.data(), record.document_hash.size());
  if (store_->seen->find_or_add(known(sample, cell.number, value)) != nullptr) return {false, place.plan};
  const std::size_t last = cell.size();
  cell.sample.push_back(sample);
  cell.score.push_back(answer.score);
  const std::optional<double> nll = nll_per_token(answer);
  put(cell.nll, last, nll.has_value(), nll.value_or(kUnknown), kUnknown);
  put(cell.depth, last, answer.depth >= 0, static_cast<float>(answer.depth), -1.0F);
  put(cell.asked_depth, last, answer.asked_depth >= 0, static_cast<float>(answer.asked_depth), -1.0F);
  if (!store_->by.empty()) cell.value.push_back(value);
  cell.flags.push_back(
      static_cast<std::uint8_t>((answer.finish == "length" ? kCut : 0) | (is_empty(answer) ? kEmpty : 0)));
  return {true, place.plan};
}

void Answers::close() {
  store_->seen.reset();
  for (auto& [place, cell] : store_->cells) {
    cell.by_sample = sorted_places(cell, false);
    if (store_->by.empty()) continue;
    cell.by_value = sorted_places(cell, true);
    for (std::size_t i = 1; i < cell.size(); ++i) {
      const std::uint32_t here = cell.by_sample[i];
      if (cell.sample[here] == cell.sample[cell.by_sample[i - 1]]) cell.flags[here] |= kAgain;
    }
  }
}

std::vector<ScoreRow> Answers::rows(const Part& part) const {
  std::vector<ScoreRow> rows;
  std::vector<std::uint32_t> places;
  for (const auto& [place, cell] : store_->cells) {
    if (part.task && *part.task != place.task) continue;
    places.clear();
    const auto [chosen, begin, end] = select(cell, part.value);
    for (std::size_t i = begin; i < end; ++i) {
      if (part.value || (cell.flags[(*chosen)[i]] & kAgain) == 0) places.push_back((*chosen)[i]);
    }
    if (places.empty()) continue;
    std::sort(places.begin(), places.end());  // sums in the order of the records
    ScoreRow row = row_of(cell, places);
    const PlanName& plan = plans()[place.plan];
    row.task = tasks()[place.task];
    row.method = plan.method;
    row.factor = plan.factor;
    row.length = place.length;
    rows.push_back(std::move(row));
  }
  return rows;
}

ScoreComparison Answers::compare(const PlanName& a, const PlanName& b, std::int64_t length, const Part& part) const {
  std::vector<double> points =
      store_->differences(a, b, length, part, [](const Cell& cell, std::uint32_t i) { return cell.score[i]; });
  for (double& d : points) d *= 100;
  ScoreComparison out = compare_differences(std::move(points));
  if (part.task) out.task = tasks()[*part.task];
  out.length = length;
  return out;
}

NllComparison Answers::compare_nll(const PlanName& a, const PlanName& b, std::int64_t length, const Part& part) const {
  NllComparison out = compare_nll_differences(store_->differences(
      a, b, length, part, [](const Cell& cell, std::uint32_t i) { return at(cell.nll, i, kUnknown); }));
  if (part.task) out.task = tasks()[*part.task];
  out.length = length;
  return out;
}

void Answers::for_each_needle(const std::function<void(const Needle&)>& take) const {
  for (const auto& [place, cell] : store_->cells) {
    for (std::size_t i = 0; i < cell.depth.size(); ++i) {
      if (cell.depth[i] < 0 || (cell.flags[i] & kAgain) != 0) continue;
      take({.task = place.task,
            .plan = place.plan,
            .length = place.length,
            .score = cell.score[i],
            .depth = cell.depth[i],
            .asked_depth = at(cell.asked_depth, i, -1.0F)});
    }
  }
}

std::size_t Answers::prompts(std::size_t task) const {
  std::size_t count = 0;
  for (const auto& [place, cell] : store_->cells) count += place.task == task ? cell.size() : 0;
  std::vector<std::uint64_t> all;
  all.reserve(count);
  for (const auto& [place, cell] : store_->cells) {
    for (std::size_t i = 0; place.task == task && i < cell.size(); ++i) all.push_back(cell.sample[i]);
  }
  std::sort(all.begin(), all.end());
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

Answers answers_of(std::span<const Record> records) {
  Answers answers;
  for (const Record& record : records) {
    if (record.answer() != nullptr) answers.add(record);
  }
  answers.close();
  return answers;
}

}  // namespace mrrope::eval

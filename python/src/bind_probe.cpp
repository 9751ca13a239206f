// SPDX-License-Identifier: MIT
//
// The search for the table of a running server. Whoever has the weights is in Python and answers what is asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/fingerprint.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

// A search that knows the shape of its statements, for the checks that the header leaves to callers.
struct Fingerprinting {
  probe::Fingerprint search;
  std::vector<probe::Statement> statements;
};

bool is_log_probability(double x) { return std::isfinite(x) && x <= 0; }

probe::Row made_row(std::size_t at, std::vector<std::int32_t> tokens, std::vector<double> log_p) {
  require(at > 0, "at", "expected 1 or more tokens before a row");
  require(!tokens.empty() && tokens.size() == log_p.size(), "log_p", "expected a number for each token, and a token");
  require(std::all_of(log_p.begin(), log_p.end(), is_log_probability), "log_p", "expected log probabilities");
  return {at, std::move(tokens), std::move(log_p)};
}

probe::Statement made_statement(std::vector<std::int32_t> tokens, std::vector<probe::Row> rows) {
  require(!rows.empty(), "rows", "expected at least one row");
  std::size_t last = 0;
  for (const probe::Row& row : rows) {
    require(row.at > last && row.at <= tokens.size(), "rows", "expected rows in their order, within the tokens");
    last = row.at;
  }
  return {std::move(tokens), std::move(rows)};
}

void bind_statements(nb::module_& m) {
  nb::class_<probe::Row>(m, "Row", "Natural log probabilities of some next tokens after `at` tokens of a statement.")
      .def(
          "__init__",
          [](probe::Row* self, std::size_t at, std::vector<std::int32_t> tokens, std::vector<double> log_p) {
            new (self) probe::Row(made_row(at, std::move(tokens), std::move(log_p)));
          },
          "at"_a, "tokens"_a, "log_p"_a)
      .def_ro("at", &probe::Row::at)
      .def_ro("tokens", &probe::Row::tokens)
      .def_ro("log_p", &probe::Row::log_p);

  nb::class_<probe::Statement>(m, "Statement", R"(A sequence of tokens, and what a server said within it.

Rows of one statement share their noise and count as one observation. A statement of a single token carries no table: it
tells how far weights and engines are apart.)")
      .def(
          "__init__",
          [](probe::Statement* self, std::vector<std::int32_t> tokens, std::vector<probe::Row> rows) {
            new (self) probe::Statement(made_statement(std::move(tokens), std::move(rows)));
          },
          "tokens"_a, "rows"_a)
      .def_ro("tokens", &probe::Statement::tokens)
      .def_ro("rows", &probe::Statement::rows);
}

std::vector<probe::Suspect> suspects_of(const SpecValue& spec, nb::object advertised,
                                        const std::vector<probe::Suspect>& also) {
  probe::SuspectOptions options{.also = also};
  if (!advertised.is_none()) options.advertised = tokens(advertised, "advertised");
  return probe::suspects(*spec.spec, options);
}

void bind_suspects(nb::module_& m) {
  nb::class_<probe::Suspect>(m, "Suspect", "A table that a server may run.")
      .def(
          "__init__",
          [](probe::Suspect* self, std::string name, const PlanValue& plan) {
            new (self) probe::Suspect{std::move(name), *plan.plan};
          },
          "name"_a, "plan"_a)
      .def_prop_ro("name", &read_text<&probe::Suspect::name, probe::Suspect>)
      .def_prop_ro("plan", [](const probe::Suspect& self) { return plan_value(self.plan); })
      .def("__repr__", [](const probe::Suspect& self) { return text(fmt::format("<{}>", self.name)); });

  m.def("suspects", &suspects_of, "spec"_a, "advertised"_a = nb::none(), "also"_a = std::vector<probe::Suspect>(),
        nb::sig("def suspects(spec: Spec, advertised: int | str | None = None, also: collections.abc.Sequence[Suspect] "
                "= []) -> list[Suspect]"),
        "The trained table, and every published method at 2, 4, 8 and 16 times and at what `advertised` suggests.");
}

// Fingerprint compares tables pair by pair.
bool same_shape(const Plan& a, const Plan& b) {
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const GroupPlan& x, const GroupPlan& y) { return x.inv_freq.size() == y.inv_freq.size(); });
}

void construct(Fingerprinting* self, std::vector<probe::Suspect> suspects, std::vector<probe::Statement> statements) {
  require(!suspects.empty(), "suspects", "expected at least one");
  for (const probe::Suspect& one : suspects) {
    require(same_shape(one.plan, suspects.front().plan), "suspects", "expected plans of one model");
  }
  new (self) Fingerprinting{probe::Fingerprint(std::move(suspects), statements), statements};
}

using Question = std::pair<PlanValue, std::vector<std::size_t>>;

std::optional<Question> ask(const Fingerprinting& self) {
  const std::optional<probe::Fingerprint::Question> question = self.search.ask();
  if (!question) return std::nullopt;
  return Question(plan_value(*question->plan), question->which);
}

void tell(Fingerprinting& self, const probe::Echo& echo) {
  const std::optional<probe::Fingerprint::Question> question = self.search.ask();
  require(question && echo.size() == question->which.size(), "echo", "expected what was asked for, by statement");
  for (std::size_t k = 0; k < echo.size(); ++k) {
    const std::vector<probe::Row>& rows = self.statements[question->which[k]].rows;
    require(echo[k].size() == rows.size(), "echo", "expected the rows of the statement");
    for (std::size_t r = 0; r < rows.size(); ++r) {
      require(echo[k][r].size() == rows[r].tokens.size(), "echo", "expected a number for each token of the row");
      require(std::all_of(echo[k][r].begin(), echo[k][r].end(), is_log_probability), "echo",
              "expected log probabilities");
    }
  }
  self.search.tell(echo);
}

void bind_fingerprint(nb::module_& m) {
  nb::class_<Fingerprinting>(m, "Fingerprint", R"(Names the table of a server by asking; runs nothing itself.

    search = Fingerprint(suspects(spec), statements)
    while question := search.ask():
        plan, which = question
        search.tell([log_p_of(plan, statements[s]) for s in which])      # of each row a list
    search.verdict().name)")
      .def("__init__", &construct, "suspects"_a, "statements"_a)
      .def("ask", &ask, "A plan and the statements to run it on; the same until tell() is called. None: it is done.")
      .def("tell", &tell, "echo"_a)
      .def("verdict", [](const Fingerprinting& self) { return self.search.verdict(); })
      .def_prop_ro(
          "alive", [](const Fingerprinting& self) { return self.search.alive(); }, "Suspects that are left.");
}

void bind_verdict(nb::module_& m) {
  using probe::TableVerdict;
  nb::class_<probe::Rival>(m, "Rival", "A table that was tried.")
      .def_prop_ro("name", [](const probe::Rival& self) { return text(self.suspect.name); })
      .def_prop_ro("plan", [](const probe::Rival& self) { return plan_value(self.suspect.plan); })
      .def_ro("distance", &probe::Rival::distance, "Hellinger's, squared; 0 to 1, mean over statements.")
      .def_ro("times", &probe::Rival::times, "Its distances are so many times the best one's.")
      .def_ro("out", &probe::Rival::out, "Certainly worse than the best.")
      .def("__repr__", [](const probe::Rival& self) {
        return text(fmt::format("<{}, {:.3g} times as far{}>", self.suspect.name, self.times, self.out ? ", out" : ""));
      });

  nb::class_<TableVerdict>(m, "TableVerdict", "What a server runs, as far as what it said tells.")
      .def_prop_ro(
          "kind", [](const TableVerdict& self) { return probe::to_string(self.kind); },
          "\"named\", \"tied\", \"none\" (something else than all that were tried) or \"unclear\".")
      .def_prop_ro("name", &read_text<&TableVerdict::name, TableVerdict>, "Of the best or nearest.")
      .def_prop_ro(
          "plan",
          [](const TableVerdict& self) { return self.plan ? std::optional(plan_value(*self.plan)) : std::nullopt; })
      .def_prop_ro(
          "factor",
          [](const TableVerdict& self) { return self.plan ? std::optional(table_factor(*self.plan)) : std::nullopt; },
          "Of the plan's table.")
      .def_ro("factor_low", &TableVerdict::factor_low, "Factors from here to factor_high explain the server as well.")
      .def_ro("factor_high", &TableVerdict::factor_high)
      .def_ro("scale_off", &TableVerdict::scale_off, "The server's attention scale over that of the law, minus 1.")
      .def_ro("scale_error", &TableVerdict::scale_error, "Two standard errors of it.")
      .def_ro("distance", &TableVerdict::distance)
      .def_ro("noise", &TableVerdict::noise, "Distance of single tokens, which no table reaches.")
      .def_ro("rivals", &TableVerdict::rivals, "Every table that was tried, the nearest first.")
      .def_prop_ro(
          "tied", [](const TableVerdict& self) { return texts(self.tied); }, nb::sig("def tied(self) -> list[str]"))
      .def_prop_ro("why", &read_text<&TableVerdict::why, TableVerdict>)
      .def_ro("statements", &TableVerdict::statements);
}

}  // namespace

void bind_probe(nb::module_& m) {
  bind_statements(m);
  bind_suspects(m);
  bind_fingerprint(m);
  bind_verdict(m);
}

}  // namespace mrrope::python

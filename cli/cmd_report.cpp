// SPDX-License-Identifier: MIT
//
// mrrope report: runs become a page with pictures.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "files/output_file.h"
#include "mrrope/report.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output;
  std::string specs;
  std::string baseline;
  bool force = false;
};

// What mrrope wrote says so near its front; of a .csv, which cannot, the columns do.
bool is_page(std::string_view start) {
  return start.starts_with("<!DOCTYPE html>\n") &&
         start.find("<meta name=\"generator\" content=\"mrrope ") != std::string_view::npos;
}

bool is_picture(std::string_view start) {
  return start.find("\"usermeta\": {\n    \"generator\": \"mrrope\"\n  }") != std::string_view::npos;
}

base::OutputRule rule_of(const Options& options, std::function<bool(std::string_view)> ours) {
  base::OutputRule rule{.ours = std::move(ours), .inputs = options.runs, .force = options.force};
  for (const std::string& run : options.runs) {
    for (const char* file : {"/run.json", "/records.jsonl"}) rule.inputs.push_back(run + file);
  }
  return rule;
}

// What to type instead, if the file that is there may be replaced.
std::string hint_for(const Error& error, base::OutputRule rule) {
  if (error.code != ErrorCode::invalid_argument || std::exchange(rule.force, true)) return "";
  const Result<bool> forced = base::may_replace(error.where, rule);
  return forced && *forced ? "-f replaces it" : "";
}

Result<void> write_specs(const Options& options, const Report& report) {
  std::error_code status;
  std::filesystem::create_directories(base::to_path(options.specs), status);
  if (status) return Error{ErrorCode::io, "cannot make the folder: " + status.message(), options.specs};
  for (const Picture& picture : report.pictures) {
    const std::string path = options.specs + "/" + picture.name;
    const std::string columns = picture.csv.substr(0, picture.csv.find('\n') + 1);
    const auto is_table = [&columns](std::string_view start) { return start.starts_with(columns); };
    if (const auto ok = base::write_output(path + ".vl.json", picture.spec, rule_of(options, is_picture)); !ok)
      return ok.error();
    if (const auto ok = base::write_output(path + ".csv", picture.csv, rule_of(options, is_table)); !ok)
      return ok.error();
  }
  return {};
}

int run_report(const Options& options) {
  const base::OutputRule rule = rule_of(options, is_page);
  const auto refused = [&rule](const Error& error) { return fail(error, hint_for(error, rule)); };
  // Before a million records are read
  if (const Result<bool> allowed = base::may_replace(options.output, rule); !allowed) return refused(allowed.error());
  const Result<Report> report = make_report(options.runs, {.baseline = options.baseline});
  if (!report) return fail(report.error());
  for (const std::string& run : report->torn) {
    note("the last line of {} is damaged and was left out; the same eval command measures it again\n", run);
  }
  if (const auto ok = base::write_output(options.output, report->html, rule); !ok) return refused(ok.error());
  if (!options.specs.empty()) {
    if (const auto ok = write_specs(options, *report); !ok) return refused(ok.error());
  }
  const std::size_t count = report_draws() ? report->pictures.size() : 0;
  print("wrote     {} ({:.1f} MB): {} record{}, {} picture{}\n", options.output,
        static_cast<double>(report->html.size()) / 1e6, report->records, report->records == 1 ? "" : "s", count,
        count == 1 ? "" : "s");
  if (!report_draws()) {
    print_error("this mrrope was built without Vega: the page has every table and no picture",
                "tools/vega fetches it; then cmake --preset release && cmake --build --preset release");
  }
  return 0;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("report",
                             "runs as a page with pictures: one file that works offline\n"
                             "\n"
                             "  mrrope report run -o page.html\n"
                             "  mrrope report ppl-run niah-run plan.json -o page.html --specs pictures\n");
  command
      ->add_option("RUN", options->runs,
                   "folders that mrrope eval wrote (of one model), plan\nfiles, what analyze --attention --json wrote, "
                   "and\npublished values (mrrope.published/1)")
      ->required();
  command->add_option("-o,--output", options->output, "the page; an older page of mrrope is replaced")
      ->type_name("FILE")
      ->required();
  command->add_option("--specs", options->specs, "also every picture as Vega-Lite (.vl.json) and its data\n(.csv)")
      ->type_name("FOLDER");
  command->add_option("--baseline", options->baseline, "what plans are compared with (default: yarn, else none)")
      ->type_name("METHOD");
  command->add_flag("-f,--force", options->force, "replace other files, too, but never what is read");
  command->callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace mrrope::cli

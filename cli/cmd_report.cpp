// SPDX-License-Identifier: MIT
//
// mrrope report: runs become a page with pictures.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "mrrope/report.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output;
  std::string specs;
  std::string baseline;
};

std::optional<Error> write_specs(const std::string& folder, const Report& report) {
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (status) return Error{ErrorCode::io, "cannot make the folder: " + status.message(), folder};
  for (const Picture& picture : report.pictures) {
    const std::string path = folder + "/" + picture.name;
    if (auto error = base::write_file(path + ".vl.json", picture.spec, true)) return error;
    if (auto error = base::write_file(path + ".csv", picture.csv, true)) return error;
  }
  return std::nullopt;
}

int run_report(const Options& options) {
  const Result<Report> report = make_report(options.runs, {.baseline = options.baseline});
  if (!report) return fail(report.error());
  for (const std::string& run : report->torn) {
    fmt::print(stderr, "the last line of {} is damaged and was left out; the same eval command measures it again\n",
               run);
  }
  if (auto error = base::write_file(options.output, report->html, true)) return fail(*error);
  if (!options.specs.empty()) {
    if (auto error = write_specs(options.specs, *report)) return fail(*error);
  }
  const std::size_t count = report_draws() ? report->pictures.size() : 0;
  fmt::print("wrote     {} ({:.1f} MB): {} record{}, {} picture{}\n", options.output,
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
      ->add_option(
          "RUN", options->runs,
          "folders that mrrope eval wrote (of one model), plan\nfiles, and what analyze --attention --json wrote")
      ->required();
  command->add_option("-o,--output", options->output, "the page; an older one is replaced")
      ->type_name("FILE")
      ->required();
  command->add_option("--specs", options->specs, "also every picture as Vega-Lite (.vl.json) and its data\n(.csv)")
      ->type_name("FOLDER");
  command->add_option("--baseline", options->baseline, "what plans are compared with (default: yarn, else none)")
      ->type_name("METHOD");
  command->callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace mrrope::cli

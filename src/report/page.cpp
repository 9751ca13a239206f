// SPDX-License-Identifier: MIT
#include "report/page.h"

#include <fmt/format.h>

#include "mrrope/version.h"
#include "report/html.h"

namespace mrrope::report {

namespace {

// Nothing is loaded, nothing runs but the two scripts with these hashes, nothing is sent.
std::string policy() {
  const Assets& a = assets();
  std::string scripts = "'none'";
  if (!a.vega.empty()) scripts = fmt::format("'sha256-{}' 'sha256-{}'", a.vega_hash, a.script_hash);
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      scripts);
}

std::string html_of(const Figure& figure) {
  const bool draws = !assets().vega.empty();
  std::string out = fmt::format("<figure id=\"{0}\">\n<h3>{1}</h3>\n", figure.name, escaped(figure.title));
  if (!figure.conclusion.empty()) out += fmt::format("<p class=\"conclusion\">{}</p>\n", escaped(figure.conclusion));
  const std::string table = fmt::format("<div class=\"scroll\" tabindex=\"0\">\n{}</div>\n", html_table(figure.table));
  if (figure.spec.is_null()) {
    out += table;
  } else if (draws) {
    out += fmt::format("<div class=\"picture\" data-picture=\"{}\"></div>\n", figure.name);
  }
  if (!figure.reading.empty()) out += fmt::format("<figcaption>{}</figcaption>\n", escaped(figure.reading));
  if (!figure.spec.is_null()) {
    out += fmt::format("<details{}><summary>As a table</summary>\n{}</details>\n", draws ? "" : " open", table);
  }
  if (!figure.data.rows.empty()) {
    out += fmt::format("<p class=\"files\"><a download=\"{}.csv\" href=\"{}\">CSV</a></p>\n", figure.name,
                       data_url("text/csv", csv_of(figure.data)));
  }
  return out + "</figure>\n";
}

}  // namespace

std::string html_of(const Page& page) {
  const Assets& a = assets();
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"mrrope {}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      policy(), MRROPE_VERSION, escaped(page.title + ": mrrope report"), a.style);

  out += fmt::format("<header>\n<p class=\"kicker\">mrrope report</p>\n<h1>{}</h1>\n<p class=\"facts\">",
                     escaped(page.title));
  for (std::size_t i = 0; i < page.facts.size(); ++i) out += (i == 0 ? "" : " · ") + escaped(page.facts[i]);
  out += "</p>\n</header>\n<main>\n";
  if (!page.verdict.empty()) {
    out += "<section id=\"verdict\">\n<h2>Verdict</h2>\n<ul>\n";
    for (const std::string& sentence : page.verdict) out += fmt::format("<li>{}</li>\n", escaped(sentence));
    out += "</ul>\n</section>\n";
  }
  if (a.vega.empty()) {
    out +=
        "<p class=\"note\">This mrrope was built without Vega: every table is here, the pictures are not. tools/vega "
        "fetches it; then build again.</p>\n";
  }
  out += "<nav aria-label=\"Sections\">";
  for (const Section& section : page.sections) {
    out += fmt::format("<a href=\"#section-{}\">{}</a> ", section.name, escaped(section.title));
  }
  out += "</nav>\n";
  base::Json specs = base::Json::object();
  for (const Section& section : page.sections) {
    out += fmt::format("<section id=\"section-{}\">\n<h2>{}</h2>\n", section.name, escaped(section.title));
    for (const Figure& figure : section.figures) {
      out += html_of(figure);
      if (!figure.spec.is_null()) specs[figure.name] = figure.spec;
    }
    out += "</section>\n";
  }
  out += fmt::format(
      "</main>\n<footer>Made by mrrope {} from the records named under Provenance; this page loads nothing and "
      "sends nothing.</footer>\n",
      MRROPE_VERSION);
  if (!a.vega.empty()) {
    out += fmt::format("<script type=\"application/json\" id=\"pictures\">{}</script>\n", script_json(specs));
    out.append("<script>").append(a.vega).append("</script>\n<script>").append(a.script).append("</script>\n");
  }
  return out + "</body>\n</html>\n";
}

}  // namespace mrrope::report

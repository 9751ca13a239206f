# SPDX-License-Identifier: MIT
"""The documentation as a site (tools/site), its pages as files. MRROPE_SITE: one that was built; else one is built.

Links and menus are checked by mkdocs while it builds, of Markdown; here of what came out, in which the API and the links that
tools/site_parts/hooks.py makes stand, too.
"""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import markdown_it
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/mrrope").glob("*.h"))
DOCUMENTS = sorted(path for path in (ROOT / "docs").rglob("*.md"))
COUNTED = ("h1", "h2", "h3", "h4", "li", "td", "th", "pre", "img")
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data"), ("use", "href")}


class Page(html.parser.HTMLParser):
    """What a page links to, loads, and shows between <article> and </article>."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places, self.counts = [], [], set(), dict.fromkeys(COUNTED, 0)
        self.article, self.text, self.prose, self.inside, self.menu = 0, [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
            if "md-nav__link" in (attrs.get("class") or ""):
                self.menu.append(attrs["href"])
        self.loads += [attrs[name] for on, name in LOADS if on == tag and attrs.get(name)]
        self.loads += re.findall(r"url\(([^)]+)\)", attrs.get("style") or "")
        self.article += tag == "article"
        if self.article and tag in self.counts:
            self.counts[tag] += 1
        if tag in ("pre", "code", "script", "style", "math"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        self.article -= tag == "article"
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data):
        if self.article:
            self.text.append(data)
            if not self.inside:
                self.prose.append(data)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    built = os.environ.get("MRROPE_SITE")
    if not built:
        built = tmp_path_factory.mktemp("site")
        subprocess.run([ROOT / "tools/site", built], check=True)
    return pathlib.Path(built)


@pytest.fixture(scope="session")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def page_of(document):
    path = document.relative_to(ROOT / "docs").with_suffix(".html")
    return (path.with_name("index.html") if path.name == "README.html" else path).as_posix()


def test_every_document_stands_in_a_menu(pages):
    menus = {urllib.parse.urldefrag(link)[0] for link in pages["index.html"].menu}
    missing = [page_of(path) for path in DOCUMENTS if page_of(path) not in menus]
    assert len(DOCUMENTS) > 30 and not missing


def test_the_menus_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("## Documentation")[1]
    config = (ROOT / "tools/site_parts/mkdocs.yml").read_text(encoding="utf-8")
    for group, links in re.findall(r"^- (.*?): (.*?)(?=\n- |\n\n)", readme, re.MULTILINE | re.DOTALL):
        menu = re.search(rf"^  - {group}:\n((?:      .*\n)+)", config, re.MULTILINE)[1]
        for title, path in re.findall(r"\[(.*?)\]\((.*?)\)", links):
            assert f"- {title}: {path.removeprefix('docs/')}\n" in menu, f"{group}: {title}"


def test_every_link_leads_to_a_page_and_a_place_on_it(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links + page.loads:
            address, place = urllib.parse.urldefrag(urllib.parse.unquote(link))
            if re.match(r"https?:|mailto:|data:", address):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), address)) if address else name
            if target.startswith("..") or not (site / target).is_file():
                broken.append(f"{name}: {link}")
            elif place and target in pages and place not in pages[target].places | {"__comments"}:
                broken.append(f"{name}: {link}: no such place")
    assert len(pages) > 90 and not broken


def test_no_page_loads_anything_from_a_network(site, pages):
    asked = [f"{name}: {address}" for name, page in pages.items() for address in page.loads if re.match(r"(https?:)?//", address)]
    for style in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", style.read_text(encoding="utf-8"))
        asked += [f"{style.name}: {url}" for url in urls]
    assert not asked


def test_the_search_has_every_page_that_is_written_for_people(site, pages):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {urllib.parse.urldefrag(entry["location"])[0] or "index.html" for entry in index["docs"]}
    assert {page_of(path) for path in DOCUMENTS} | {f"api/{header.name}.html" for header in HEADERS} <= found
    assert (site / "search/search_index.js").is_file()  # for pages of files


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_every_public_comment_of_a_header_is_on_its_page(header, pages):
    shown = words(" ".join(pages[f"api/{header.name}.html"].text))
    hidden = False
    for line in header.read_text(encoding="utf-8").splitlines():
        hidden = line == " private:" or hidden and not line.startswith("};")
        comment = re.search(r"(?<!:)//(.*)|/?\*+ (.*?)(?:\*/|$)", line) if not line.startswith(("#", "}")) else None
        text = re.sub(r"SPDX-.*|NOLINT.*", "", (comment[1] or comment[2] or "")) if comment else ""
        if not hidden and words(text):
            assert words(text) in shown, f"{header.name}: {line}"


def words(text):
    return "".join(re.findall(r"\w", text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_another_reader_of_markdown_sees_the_same_lists_tables_and_code(document, pages):
    # That of the repository view: a list without an empty line before it is one there, and words of a paragraph to mkdocs
    text = document.read_text(encoding="utf-8")
    other = Page(f"<article>{markdown_it.MarkdownIt('gfm-like', {'linkify': False}).render(text)}</article>")
    assert pages[page_of(document)].counts == other.counts


def test_formulas_are_formulas(pages):
    left = re.findall(r"\\[a-z]+|\$\S+", " ".join(pages["theory.html"].prose))
    assert not left


def test_a_comment_that_names_what_is_not_there_is_found():
    sys.path.insert(0, str(ROOT / "tools/site_parts"))
    from api_comments import Comments  # pylint: disable=import-outside-toplevel

    comments = Comments({"ErrorCode": "result.h.html#ErrorCode", "ErrorCode::io": "result.h.html#ErrorCode.io"}, {"result.h"})
    fine = comments.render(["ErrorCode::io of mrrope/result.h, [T17], docs/theory.md; std::span"])
    assert 'href="result.h.html#ErrorCode.io"' in fine and 'href="../theory.html#T17"' in fine and not comments.problems
    comments.render(["ErrorCode::gone of mrrope/gone.h, [T999], docs/gone.md"])
    assert len(comments.problems) == 4


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("text", encoding="utf-8")
    done = subprocess.run([ROOT / "tools/site", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected an empty folder" in done.stderr and list(tmp_path.iterdir()) == [tmp_path / "mine"]


def test_a_browser_searches_without_a_server_and_asks_no_network(site):
    sys.path.insert(0, str(ROOT / "tests/browser"))
    import browser  # pylint: disable=import-outside-toplevel

    if not browser.chromium() and not os.environ.get("MRROPE_REQUIRE_BROWSER"):
        pytest.skip("chromium is not installed")
    with browser.Browser() as chromium:
        for name in ("index.html", "theory.html", "api/rotary.h.html"):
            for width in (390, 1440):
                page = chromium.open(site / name, width=width)
                assert not page.errors and page.value("document.documentElement.scrollWidth") == width
                assert not [request for request in page.requests if not request.startswith(("file:", "data:"))]
        page.value("document.querySelector('[data-md-component=search-query]').focus()")
        page.value("(e => { e.value = 'passkey'; e.dispatchEvent(new Event('keyup', {bubbles: true})); "
                   "e.dispatchEvent(new Event('input', {bubbles: true})) })(document.querySelector('[data-md-component=search-query]'))")
        for _ in range(600):  # a minute, for busy machines
            found = page.value("[...document.querySelectorAll('.md-search-result__link')].map(e => e.href)")
            if found:
                break
            chromium.message(0.1)
        assert any("benchmarks.html" in address for address in found)
        assert not [request for request in page.requests if not request.startswith(("file:", "data:"))]

# SPDX-License-Identifier: MIT
"""What mkdocs is told about this repository: which files are pages, where links lead, and how formulas are shown.

Pages are written for the repository view, where README.md stands above docs/ and `../python/examples/…` is a file. On the site
docs/ is the top; everything else keeps its path beside it (CONTRIBUTING.md, python/examples/tune_model.py as a page with the
file in it), and a header is its page of the API. What pages link to is found here, so that a new link needs no new line.
"""
import os
import pathlib
import posixpath
import re
import subprocess

import latex2mathml.converter
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
DOCUMENT = re.compile(r"<(?P<element>a|pre|code|h\d)\b.*?</(?P=element)>|\b(?P<page>docs/[\w/-]+\.md)\b", re.DOTALL)
LANGUAGES = {".py": "python", ".rs": "rust", ".yaml": "yaml", ".json": "json", ".sh": "bash", ".c": "c", ".cpp": "cpp", ".h": "cpp"}
LARGEST = 100_000  # bytes of a file that is shown

came_from = {}  # path on the site -> path in the repository, of pages


def site_path(path):
    """Where a file or folder of the repository stands on the site, as mkdocs names sources."""
    if path == "README.md":
        return "index.md"
    if path == "include/mrrope":
        return "api/index.md"
    if path.startswith("include/mrrope/"):
        return f"api/{posixpath.basename(path)}.md"
    if path.startswith("docs/") and (ROOT / path).is_file():
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return posixpath.join(path.removeprefix("docs/"), "index.md")
    return path if path.endswith(".md") else f"{path}.md"


def links_of(path, text):
    """Files and folders of the repository that a page links to: (as written, path in the repository)."""
    for link in LINK.findall(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        if "://" not in link and not target.startswith("..") and (ROOT / target).exists():
            yield link, target


def tracked(path):
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "--", path], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def page_of_file(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    language = LANGUAGES.get(pathlib.Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n``````{language}\n{text}``````\n"


def page_of_folder(path):
    """A list of its files; those that can be shown are links, which pages_linked follows."""
    lines = [f"# {path}", ""]
    for file in tracked(path):
        name, size = posixpath.relpath(file, path), (ROOT / file).stat().st_size
        if path.startswith("docs/") or ("/" not in name and size <= LARGEST):
            name = f"[{name}]({name})"
        lines.append(f"- {name}, {size:,} bytes".replace(",", " ").replace("  ", ", ", 1))
    return "\n".join(lines) + "\n"


def pages_linked():
    """Path in the repository -> text, of what pages outside docs/ there have to be."""
    found = {}
    waiting = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *(p for p in tracked("docs") if p.endswith(".md"))]
    while waiting:
        path = waiting.pop()
        if path in found or path.startswith("include/"):
            continue
        if (ROOT / path).is_dir():
            found[path] = page_of_folder(path)
            waiting += [file for _, file in links_of(f"{path}/", found[path])]
        elif path.endswith(".md"):
            found[path] = (ROOT / path).read_text(encoding="utf-8")
            waiting += [target for _, target in links_of(path, found[path])]
        elif not path.startswith("docs/"):
            found[path] = page_of_file(path)
    return found


def on_files(files, config):
    came_from.clear()
    for path, text in pages_linked().items():
        came_from[site_path(path)] = path + "/" if (ROOT / path).is_dir() else path
        if not files.get_file_from_path(site_path(path)):
            files.append(File.generated(config, site_path(path), content=text))
    api = sorted(page.name for page in pathlib.Path(os.environ["MRROPE_SITE_API"]).iterdir())
    for name in api:
        files.append(File.generated(config, f"api/{name}", abs_src_path=os.path.join(os.environ["MRROPE_SITE_API"], name)))
    for asset in [*pathlib.Path(os.environ["MRROPE_SITE_ASSETS"]).iterdir(), ROOT / "tools/site_parts/extra.css"]:
        files.append(File.generated(config, f"assets/{asset.name}", abs_src_path=str(asset)))
    # C++ has its headers below it; what is outside docs/ and folders may stand in no menu
    build_on = next(entry["Build on"] for entry in config.nav if "Build on" in entry)
    cpp = next(entry for entry in build_on if "C++" in entry)
    cpp["C++"] = [{"All headers": "api/index.md"}, *({name.removesuffix(".md"): f"api/{name}"} for name in api if name != "index.md")]
    menus = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    for file in files.documentation_pages():
        path = came_from.get(file.src_uri, "")
        if file.src_uri not in menus and (not path.startswith("docs/") or path.endswith("/")):
            file.inclusion = file.inclusion.NOT_IN_NAV
    return files


def on_page_markdown(markdown, page, **_):
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation"]  # of one page
    path = came_from.get(here)
    if path:
        targets = dict(links_of(path, markdown))
        markdown = LINK.sub(lambda m: posixpath.relpath(site_path(targets[m[1]]), posixpath.dirname(here) or ".") if m[1] in targets
                            else m[1], markdown)
    if here == "theory.md":  # where comments of headers lead; and a formula of its own is a block, also below a line
        markdown = re.sub(r"^\*\*\[(T\d+)\]\*\*", r"**[\1]**{#\1}", markdown, flags=re.MULTILINE)
        markdown = re.sub(r"^\$\$.*?\$\$$", r"\n\g<0>\n", markdown, flags=re.MULTILINE | re.DOTALL)
    return markdown


def on_page_content(html, page, **_):
    def as_mathml(match):
        text = match[3].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        formula = latex2mathml.converter.convert(text.strip(), display="block" if match[2] == "[" else "inline")
        if text.strip().startswith(r"\displaystyle"):
            formula = formula.replace("<math ", '<math displaystyle="true" ', 1)
        return f'<{match[1]} class="formula">{formula}</{match[1]}>'

    def as_link(match):  # what terminals and headers read, and what is no link there
        if not match["page"] or not (ROOT / match["page"]).is_file():
            return match[0]
        place = re.sub(r"(?<=/)README$", "index", match["page"][:-3].removeprefix("docs/"))
        address = posixpath.relpath(f"{place}.html", posixpath.dirname(page.file.dest_uri) or ".")
        return f'<a href="{address}">{match["page"]}</a>'

    return DOCUMENT.sub(as_link, FORMULA.sub(as_mathml, html))

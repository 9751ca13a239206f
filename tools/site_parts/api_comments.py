# SPDX-License-Identifier: MIT
"""Comments of the headers as HTML: paragraphs, lists, columns of terms, examples, and links.

They are written to be read beside the code, and their layout says what they are: what is indented is an example of code or a
table, `term   meaning` in columns is a list of terms, `[T17]` an equation of docs/theory.md. Names of our own become links. A
name or a file that is not there is a problem, which stops the build: comments are the first to be forgotten when code changes.
"""
import html
import pathlib
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r"\w\(|->|\w = |//")
WORD = re.compile(r"`(?P<code>[^`]+)`|\[(?P<equation>T\d+)\]|(?P<document>docs/[\w/.-]+\.md)|(?P<header>mrrope/\w+\.h)\b"
                  r"|(?<![\w.\"-])(?P<name>[A-Za-z_]\w*(?:::\w+)*)(?P<call>\(\)?)?")


class Comments:
    def __init__(self, symbols, headers):
        """symbols: qualified name without mrrope:: -> address of its page and place; headers: names of files."""
        self.symbols = symbols
        self.headers = headers
        self.equations = set(re.findall(r"^\*\*\[(T\d+)\]\*\*", (ROOT / "docs/theory.md").read_text(encoding="utf-8"), re.MULTILINE))
        self.by_last = {}
        for name, address in symbols.items():
            self.by_last.setdefault(name.split("::")[-1], []).append((name, address))
        self.problems = []
        self.page = ""

    def render(self, lines):
        """HTML of a comment; lines without their //."""
        parts, paragraph = [], []
        for line in [*lines, ""]:
            # indentation begins and ends a part as an empty line does
            if paragraph and (not line.strip() or line.startswith("  ") != paragraph[0].startswith("  ")):
                parts.append(self.part(paragraph))
                paragraph = []
            if line.strip():
                paragraph.append(line.rstrip())
        return "\n".join(parts)

    def part(self, lines):
        indent = min(len(line) - len(line.lstrip()) for line in lines)
        inner = [line[indent:] for line in lines]
        if inner[0].startswith("- "):
            items = re.split(r"\n- ", "\n".join(inner)[2:])
            return "<ul>" + "".join(f"<li>{self.inline(' '.join(item.split()))}</li>" for item in items) + "</ul>"
        terms = terms_of(inner)
        if terms:
            rows = (f"<dt>{self.inline(term)}</dt><dd>{self.inline(meaning)}</dd>" for term, meaning in terms)
            return '<dl class="terms">' + "".join(rows) + "</dl>"
        if indent:
            return example("\n".join(inner)) if any(CODE.search(line) for line in inner) else f"<pre>{self.inline(chr(10).join(inner))}</pre>"
        return f"<p>{self.inline(' '.join(inner))}</p>"

    def inline(self, text):
        out, at = [], 0
        for match in WORD.finditer(text):
            out.append(html.escape(text[at : match.start()], quote=False))
            out.append(self.word(match))
            at = match.end()
        return "".join(out) + html.escape(text[at:], quote=False)

    def word(self, match):
        shown = html.escape(match[0], quote=False)
        if match["equation"]:
            return self.link(f"../theory.html#{match['equation']}", shown, match["equation"] in self.equations)
        if match["document"]:
            document = match["document"]
            return self.link("../" + document.removeprefix("docs/")[:-3] + ".html", shown, (ROOT / document).is_file())
        if match["header"]:
            header = match["header"].removeprefix("mrrope/")
            return self.link(f"{header}.html", f"<code>{shown}</code>", header in self.headers)
        if match["code"]:
            address = self.address(match["code"].removesuffix("()"))
            code = f"<code>{html.escape(match['code'], quote=False)}</code>"
            return f'<a href="{address}">{code}</a>' if address else code
        name, call = match["name"], match["call"] or ""
        # table, band and plan are words of English, too
        is_code = call or "_" in name or "::" in name or re.search(r"[a-z][A-Z]|^[A-Z][a-z]+$", name) and name in self.by_last
        address = self.address(name) if is_code else None
        if "::" in name and not address and not name.startswith("std::") and name.split("::")[0] in self.by_last:
            self.problems.append(f"{self.page}: a comment names {name}, which is not declared")
        if not address or re.fullmatch(r"[A-Z][a-z]+", name) and self.starts_sentence(match):
            return shown
        inside, behind = ("()", "") if call == "()" else ("", call)
        return f'<a href="{address}"><code>{html.escape(name)}{inside}</code></a>{behind}'

    @staticmethod
    def starts_sentence(match):
        """`Errors: …` and `Plan files` are English; `a Plan`, `Result<Plan>` are types."""
        before = match.string[: match.start()].rstrip(" ")
        return not before or before[-1] in ".:;\n"

    def link(self, address, shown, there):
        if not there:
            self.problems.append(f"{self.page}: a comment speaks of {shown}, which is not there")
        return f'<a href="{address}">{shown}</a>'

    def address(self, name):
        """Where a name is declared: what it names exactly, then on this page, then the only one of that name."""
        name = name.removeprefix("mrrope::")
        if name in self.symbols:
            return self.symbols[name]
        if "::" in name:
            found = [address for whole, address in self.by_last.get(name.split("::")[-1], []) if whole.endswith(f"::{name}")]
            return found[0] if found else None
        found = [address for _, address in self.by_last.get(name, [])]
        here = [address for address in found if address.startswith(f"{self.page}.html")]
        return found[0] if len(found) == 1 else here[0] if len(here) == 1 else None


def terms_of(lines):
    """[(term, meaning)] of lines in two columns, else nothing. The column is where every line has a word after a space."""
    starts = {match.end() for match in (re.match(r"\S+(?: \S+)*?:?\s{2,}(?=\S)", line) for line in lines) if match}
    for column in sorted(starts):
        if all(len(line) > column and line[column - 1] == " " and line[column] != " " for line in lines) and lines[0][:column].strip():
            terms = []
            for line in lines:
                term = line[:column].strip().removesuffix(":")
                if re.search(r"[(;{=]", term):  # code, with comments in a column
                    return None
                if term:
                    terms.append((term, line[column:]))
                else:
                    terms[-1] = (terms[-1][0], f"{terms[-1][1]} {line[column:]}")
            return terms
    return None


def example(text):
    return code_of(coloured(text))


def coloured(text):
    """Lines of C++ as HTML."""
    return highlight(text, CppLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")


def code_of(lines):
    """Lines of HTML as a block of code. mkdocs-material lays code out as a grid, an element for each line."""
    return '<div class="highlight"><pre><code>' + "".join(f"<span>{line}\n</span>" for line in lines) + "</code></pre></div>"

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the pages of the API: one for each header of include/mrrope, and one that lists them.

    api_pages.py XML OUT        XML: what doxygen made of the headers (Doxyfile), OUT: a folder of Markdown for mkdocs

A header reads as the manual, and its page keeps its order: what it is for, its sections, and each declaration under what is said
of it. Members keep their comments beside them, in columns. Names are links to where they are declared, which doxygen knows.
Prints what comments say wrongly and exits 1 if there is something.
"""
import html
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

from api_comments import ROOT, Comments, code_of, coloured

# Words of code that become links. Not `band`: a parameter may have the name of a function
TYPE = re.compile(r'(<span class="n[cfnel]?">)((?:k?[A-Z]|mrrope_)\w+)(?=</span>)')
SECTION = re.compile(r"(?://|/\*) -{3,} (.+?) -{3,}(?: \*/)?$")


class Line:
    def __init__(self, element):
        self.declares = element.get("refid")
        self.parts = []  # (kind, text, what it refers to)
        for piece in element:
            kind = piece.get("class")
            self.parts.append((kind, text_of(piece, children=False), None))
            for child in piece:
                if child.tag == "ref":
                    self.parts.append((kind, text_of(child), child.get("refid")))
                self.parts.append((kind, (" " if child.tag == "sp" else "") + (child.tail or ""), None))
        self.text = "".join(text for _, text, _ in self.parts)
        self.code = "".join(text for kind, text, _ in self.parts if kind not in ("comment", "stringliteral", "charliteral"))

    def is_comment(self):
        return bool(self.text.strip()) and not self.code.strip()


def text_of(element, children=True):
    text = element.text or ""
    if children:
        for child in element:
            text += (" " if child.tag == "sp" else text_of(child)) + (child.tail or "")
    return text


class Header:
    def __init__(self, root):
        self.name = root.findtext("compounddef/compoundname").split("/")[-1]
        self.lines = [Line(element) for element in root.iter("codeline")]
        for before, line in zip(self.lines, self.lines[1:]):  # doxygen's place of a last value without a comma
            if line.code.strip() == "};" and line.declares:
                before.declares, line.declares = line.declares, None
        self.namespace = next((m[1] for line in self.lines if (m := re.match(r"namespace (\S+) \{", line.code))), "")
        self.items = list(items_of(self.lines))


def bare(lines):
    """Comment lines without what makes them comments; NOLINT is for another reader."""
    text = [re.sub(r"^\s*(?://|/\*|\*/|\*)(?: |$)|\s*\*/$", "", line.text.rstrip()) for line in lines]
    return [line for line in text if not re.match(r"SPDX-|NOLINT", line)]


def items_of(lines):
    """What the page shows: ("about", lines), ("section", title), ("block", comment, code)."""
    end = next(i for i, line in enumerate(lines) if not line.is_comment())
    yield "about", bare(lines[:end])
    comment, code, depth, hidden = [], [], 0, 0
    for line in lines[end:]:
        text = line.text.strip()
        if depth == 0 and (hidden or text.startswith("#")):
            # what compilers are told; the guard of c.h stands around everything
            if re.match(r"#\s*if(?!ndef MRROPE_C_H)", text):
                hidden += 1
            elif text.startswith("#endif"):
                hidden = max(0, hidden - 1)
            elif not hidden and re.match(r"#define \w+ \S", text):
                code.append(line)
            continue
        if depth == 0 and re.match(r"namespace .*\{$|\}\s*//\s*namespace", text):
            continue
        section = SECTION.match(text)
        if depth == 0 and (not text or section or line.is_comment() and code):
            if comment or code:
                yield "block", comment, code
            comment, code = [], []
        if section:
            yield "section", section[1]
        elif line.is_comment() and not code:
            comment.append(line)
        elif text or code:
            code.append(line)
        depth += line.code.count("{") - line.code.count("}")
    if comment or code:
        yield "block", comment, code


def public(lines):
    """A class without its private part."""
    depth, hidden = 0, False
    for line in lines:
        text = line.code.strip()
        if depth == 1 and text in ("private:", "public:") or depth <= 1 and text == "};":
            hidden = text == "private:"
        if not hidden:
            yield line
        depth += line.code.count("{") - line.code.count("}")


def names_of(xml):
    """What doxygen calls a declaration -> its name without mrrope::; and the values of an enum -> what it calls the enum."""
    names, enums = {}, {}
    for compound in ElementTree.parse(xml / "index.xml").getroot():
        whole = compound.findtext("name").replace(" ", "")
        file = compound.get("kind") == "file"
        if compound.get("kind") in ("class", "struct", "union"):
            names[compound.get("refid")] = whole.removeprefix("mrrope::")
        scope = "" if file else f"{whole}::"
        for member in compound.findall("member"):
            name = member.findtext("name")
            if re.fullmatch(r"~?\w+", name) and name != "MRROPE_C_API":
                names.setdefault(member.get("refid"), f"{scope}{name}".removeprefix("mrrope::"))
        for enum in ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().iter("memberdef"):
            if enum.get("kind") == "enum":
                for value in enum.findall("enumvalue"):
                    enums[value.get("id")] = enum.get("id")
                    if enum.get("strong") == "yes":
                        names[value.get("id")] = f"{names[enum.get('id')]}::{value.findtext('name')}"
    return names, enums


def places(headers, names, enums):
    """What doxygen calls a declaration -> (its page, the place there): the first line that declares it."""
    found, taken = {}, set()
    for header in headers:
        for line in header.lines:
            if not line.declares:  # doxygen marks the lines of an enum class as if they only spoke of its values
                line.declares = next((refers for _, _, refers in line.parts if refers in enums and refers not in found
                                      and found.get(enums[refers], ("",))[0] == header.name), None)
            if line.declares in names and line.declares not in found:
                place = re.sub(r"[^\w.]+", "-", names[line.declares].replace("::", ".")).strip("-")
                base, number = place, 1
                while (header.name, place) in taken:
                    number += 1
                    place = f"{base}-{number}"
                taken.add((header.name, place))
                found[line.declares] = (header.name, place)
    for value, enum in enums.items():
        if enum in found:
            found.setdefault(value, found[enum])
    return found


def page_of(header, names, where, comments):
    comments.page = header.name
    out = [f"# mrrope/{header.name}", "", f'<p class="include"><code>#include &lt;mrrope/{header.name}&gt;</code>'
           + (f" · namespace <code>{header.namespace}</code>" if header.namespace else "") + "</p>", ""]
    for kind, *item in header.items:
        if kind == "about":
            out += [comments.render(item[0]), ""]
        elif kind == "section":
            out += [f"## {item[0]}", ""]
        else:
            out += block(*item, header, names, where, comments)
    return "\n".join(out) + "\n"


def block(comment, code, header, names, where, comments):
    depth, shown, anchored = 0, [], None
    code = list(public(code))
    while len(code) > 1 and not code[-2].text.strip():  # what stood before the private part
        del code[-2]
    for line in code:
        if depth == 0 and where.get(line.declares, ("",))[0] == header.name:
            anchored = anchored or where[line.declares][1]
            last = names[line.declares].split("::")[-1]
            if last not in shown:
                shown.append(last)
        depth += line.code.count("{") - line.code.count("}")
    out = []
    if shown:
        title = ", ".join(f"`{name}`" for name in shown[:3]) + (", …" if len(shown) > 3 else "")
        out += [f"### {title} {{#{anchored}}}", ""]
    if comment:
        out += [comments.render(bare(comment)), ""]
    if code:
        out += [code_of(marked(code, anchored, header, where, comments)), ""]
    return out


def marked(code, anchored, header, where, comments):
    """Lines of code with their colours, their links, and places that others can link to."""
    for line, text in zip(code, coloured("\n".join(line.text for line in code))):
        page, place = where.get(line.declares, (None, None))
        own = place and place.split(".")[-1].split("-")[0]

        def linked(match, own=own):
            address = comments.address(match[2])
            return f'{match[1]}<a href="{address}">{match[2]}</a>' if address and match[2] != own else match[0]

        here = f'<span id="{place}"></span>' if page == header.name and place != anchored else ""
        yield here + TYPE.sub(linked, text)


def overview(headers, symbols):
    """The list of headers by the rooms of docs/architecture.md, and of all names."""
    out = ["# C++ and C", "", "One header per concern, and each reads as the manual of it. `mrrope/mrrope.h` includes those that plans and files "
           "need. What no page says: the library never prints, exits or throws at you. How it is built in: [I write an engine]"
           "(../start-engine.md); in other languages: [C](../c-api.md).", "",
           "| header | what it is for |", "|---|---|"]
    rooms = re.findall(r"^\| `(src/\w+)` \|.*\| (.*) \|$", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.MULTILINE)
    order = ["mrrope.h", *(name for _, cell in rooms for name in re.findall(r"`(\w+\.h)`", cell))]
    by_name = {header.name: header for header in headers}
    for name in order:
        about = " ".join("\n".join(by_name[name].items[0][1]).strip().split("\n\n")[0].split())
        first = re.split(r"(?<=\w\.) (?=[A-Z])", about)[0]
        out.append(f"| [`{name}`]({name}.md) | {html.escape(first, quote=False).replace('|', '&#124;')} |")
    out += ["", "## All names", "", '<ul class="names">']
    namespaces = {"", *(header.namespace.removeprefix("mrrope::") for header in headers)}
    top = {name: address for name, address in symbols.items() if "::".join(name.split("::")[:-1]) in namespaces}
    for name, address in sorted(top.items(), key=lambda item: item[0].split("::")[-1].lower()):
        out.append(f'<li><a href="{address}"><code>{html.escape(name.split("::")[-1])}</code></a></li>')
    return "\n".join([*out, "</ul>"]) + "\n"


def main():
    xml, out = map(pathlib.Path, sys.argv[1:])
    headers = sorted((Header(ElementTree.parse(file).getroot()) for file in xml.glob("*_8h.xml")), key=lambda header: header.name)
    names, enums = names_of(xml)
    where = places(headers, names, enums)
    symbols = {}
    for declared, (page, place) in where.items():
        symbols.setdefault(names[declared], f"{page}.html#{place}")
    comments = Comments(symbols, {header.name for header in headers})
    out.mkdir()
    for header in headers:
        (out / f"{header.name}.md").write_text(page_of(header, names, where, comments), encoding="utf-8")
    (out / "index.md").write_text(overview(headers, symbols), encoding="utf-8")
    print("\n".join(comments.problems), end="\n" if comments.problems else "", file=sys.stderr)
    return 1 if comments.problems or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

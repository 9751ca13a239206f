#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the generated part of docs/json.md from docs/schemas/*.schema.json.

    tools/json_document.py            # renews docs/json.md
    tools/json_document.py --check    # exit status 1 if it is not current

tests/cli/json_test.py holds the schemas against what the commands print.
"""
import json
import pathlib
import sys

import generated

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
DOCUMENT = DOCS / "json.md"
MARKS = "<!-- generated: tools/json_document.py -->\n", "<!-- end -->\n"


def resolved(schema, root):
    """A part with what it refers to; a description of its own stays."""
    if "$ref" not in schema:
        return schema
    return {**root["$defs"][schema["$ref"].rsplit("/", 1)[1]], **{k: v for k, v in schema.items() if k != "$ref"}}


def type_of(schema, root):
    """"integer or null", "list of numbers"."""
    kinds = schema.get("type", "any value")
    if kinds == "array":
        items = resolved(schema["items"], root)
        inner = items.get("type", "object")
        return "list of " + (" or ".join(inner) if isinstance(inner, list) else inner + "s")
    return " or ".join(kinds) if isinstance(kinds, list) else kinds


def rows(schema, root, prefix=""):
    """(field, type, meaning) of all that an object has, and of what is in it."""
    for name, given in schema.get("properties", {}).items():
        part = resolved(given, root)
        if "const" in part:
            continue
        optional = "" if name in schema.get("required", []) else ", optional"
        meaning = part.get("description", "")
        if "enum" in part:
            meaning += ", ".join(part["enum"])
        yield f"`{prefix}{name}`", type_of(part, root) + optional, meaning
        yield from rows(part, root, f"{prefix}{name}.")
        items = resolved(part.get("items", {}), root)
        yield from rows(items, root, f"{prefix}{name}[].")
        for choice in items.get("anyOf", []):
            chosen = resolved(choice, root)
            yield f"`{prefix}{name}[]`", "object", f"**{chosen['description']}**:"
            yield from rows(chosen, root, f"{prefix}{name}[].")


def section(path):
    root = json.loads(path.read_text(encoding="utf-8"))
    top = resolved(root["oneOf"][0], root) if "properties" not in root else root
    lines = [f"## {root['title']}", "", f"{root['description']} Schema: [{path.name}](schemas/{path.name}).", "",
             "| field | type | meaning |", "|---|---|---|"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows(top, root)]
    return "\n".join(lines) + "\n"


def main():
    text = DOCUMENT.read_text(encoding="utf-8")
    parts = [section(path) for path in sorted((DOCS / "schemas").glob("*.schema.json"))]
    current = generated.renewed(text, MARKS, "\n" + "\n".join(parts) + "\n")
    if sys.argv[1:] == ["--check"]:
        if current != text:
            sys.exit("docs/json.md is not what docs/schemas say; tools/json_document.py renews it")
        return
    DOCUMENT.write_text(current, encoding="utf-8")


if __name__ == "__main__":
    main()

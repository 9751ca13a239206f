# SPDX-License-Identifier: MIT
"""A campaign as its file says it: models x plans x measurements (docs/campaigns.md; schema mrrope.campaign/1).

    campaign = read_campaign("table-2.yaml")             # every name, number and path in it has been checked
    campaign = read_campaign("table-2.yaml", tiny=True)  # with what its `tiny` replaces
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

from ..errors import Error
from .measurements import Measurement, read_cache_types, read_lengths, read_measurement
from .reading import Table, document, tokens, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "mrrope.campaign/1"
ENGINES = ("llama.cpp", "llama-server", "vllm", "sglang", "transformers", "endpoints")
CHECKS = ("none", "length", "table")
MOST_SHARDS = 100_000


@dataclasses.dataclass(frozen=True)
class Size:
    """What prefill costs is known from (docs/scale.md). Zeros: to be read from the model's files."""

    parameters: float = 0
    layers: int = 0
    width: int = 0


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    path: str  # a file or folder, or a name on the Hugging Face Hub; empty: endpoints
    engine: str
    gpus: float = 0  # for one serving, on one machine
    cpus: float = 1
    trained: int = 0  # what it was really trained for; 0: what its files say
    program: str = ""  # the engine's, where it is not on PATH
    options: dict[str, str | None] = dataclasses.field(default_factory=dict)  # of the engine; None: a flag
    evaluate: dict[str, str | None] = dataclasses.field(default_factory=dict)  # of mrrope eval
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    endpoints: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # by plan: servers that are there
    vocabulary: str = ""  # a .gguf to count tokens by, and to name a server's table by
    check: str = "length"  # what is asked of a server before it is measured
    size: Size = Size()


@dataclasses.dataclass(frozen=True)
class PlanChoice:
    """One of: a method, a plan file, a search."""

    name: str
    method: str = ""
    target: int = 0  # tokens; 0: the campaign's
    file: str = ""
    minutes: float = 0  # of the search
    texts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Campaign:
    name: str
    models: tuple[Model, ...]
    plans: tuple[PlanChoice, ...]
    measurements: tuple[Measurement, ...]
    target: int  # tokens that plans are made for and servers are started with
    shards: int  # servings of each model under each plan, which share the samples
    retries: int  # of what failed
    output: str
    published: str  # values to stand beside ours; empty: none


def read_campaign(file: str, tiny: bool = False, data: bool = True) -> Campaign:
    """`data`: what is measured on has to be there."""
    path = pathlib.Path(file)
    table = Table(document(path), str(path))
    if (schema := table.text("schema", f'"{SCHEMA}"')) != SCHEMA:
        wrong(table.place("schema"), f'"{SCHEMA}"', schema)
    small = table.table("tiny")
    keys = ("models", "plans", "lengths", "target", "shards")
    replaced = {key: small.any(key, "a value") for key in keys if small.has(key)}
    others = small.table("measurements").rest(lambda value, _: value)
    small.end()
    if tiny:
        if not replaced and not others:
            raise Error("expected what a tiny run replaces, found nothing", "malformed", table.place("tiny"))
        table = Table({**document(path), **replaced}, str(path))
        table.text("schema")
        table.has("tiny")
    return _campaign(table, _paths_from(path.parent), others if tiny else {}, data)


def _campaign(table: Table, path: Callable[[str], pathlib.Path], others: dict[str, object], data: bool) -> Campaign:
    name = checked_name(table.text("name"), table.place("name"))
    models = tuple(_model(value, where, path) for value, where in table.list("models", "a list of models"))
    plans = tuple(_plan(value, where, path) for value, where in table.list("plans", "a list of plans"))
    lengths = read_lengths(table, "lengths") if table.has("lengths") else ()
    cache_types = read_cache_types(table)
    measurements = tuple(
        read_measurement(value, where, lengths, cache_types, path, others, data)
        for value, where in table.list("measurements", "a list of measurements")
    )
    longest = max(one.lengths[-1] for one in measurements)
    target = tokens(table.any("target", "a length"), table.place("target")) if table.has("target") else longest
    campaign = Campaign(
        name=name,
        models=models,
        plans=plans,
        measurements=measurements,
        target=target,
        shards=table.whole("shards", 1, MOST_SHARDS, 1),
        retries=table.whole("retries", 0, 100, 2),
        output=str(path(table.text("output", "a folder") if table.has("output") else f"runs/{name}")),
        published=str(path(table.text("published", "a file"))) if table.has("published") else "",
    )
    table.end()
    if campaign.published and not pathlib.Path(campaign.published).is_file():
        raise Error("there is no such file", "input/output", f"{table.place('published')}: {campaign.published}")
    if target < longest:
        said = f"expected at least the longest length, {longest}, found {target}"
        raise Error(said, "malformed", table.place("target"))
    for key in ("models", "plans", "measurements"):
        _distinct([one.name for one in getattr(campaign, key)], table.place(key))
    for model in models:
        _check_together(model, campaign, table.place("models"))
    return campaign


def _model(value: object, where: str, path: Callable[[str], pathlib.Path]) -> Model:
    table = Table(value, where)
    engine = table.text("engine", "one of " + ", ".join(ENGINES))
    if engine not in ENGINES:
        wrong(table.place("engine"), "one of " + ", ".join(ENGINES), engine)
    check = table.text("check") if table.has("check") else "length"
    if check not in CHECKS:
        wrong(table.place("check"), "one of " + ", ".join(CHECKS), check)
    endpoints = table.table("endpoints").rest(lambda one, place: Table({"urls": one}, place).texts("urls", "URLs"))
    sizes = table.table("size")
    size = Size(
        parameters=sizes.number("parameters", 0, 1e14, 0),
        layers=sizes.whole("layers", 0, 10_000, 0),
        width=sizes.whole("width", 0, 10**6, 0),
    )
    sizes.end()
    model = Model(
        name=checked_name(table.text("name"), table.place("name")),
        path="" if engine == "endpoints" else _model_path(table, engine, path),
        engine=engine,
        gpus=table.number("gpus", 0, 64, 0),
        cpus=table.number("cpus", 0, 1024, 1),
        trained=tokens(table.any("trained", "a length"), table.place("trained")) if table.has("trained") else 0,
        program=table.text("program") if table.has("program") else "",
        options=_options(table, "options"),
        evaluate=_options(table, "evaluate"),
        environment=table.table("environment").rest(_environment_value),
        endpoints=endpoints,
        vocabulary=str(path(table.text("vocabulary", "a .gguf"))) if table.has("vocabulary") else "",
        check=check,
        size=size,
    )
    table.end()
    return model


def _model_path(table: Table, engine: str, path: Callable[[str], pathlib.Path]) -> str:
    text = table.text("path", "a model")
    local = path(text)
    if local.exists():
        return str(local)
    if engine in ("vllm", "sglang", "transformers") and re.fullmatch(r"[\w.-]+/[\w.-]+", text) and text[0] not in ".-":
        return text  # on the Hub
    raise Error("there is no such file or folder", "input/output", f"{table.place('path')}: {local}")


def _plan(value: object, where: str, path: Callable[[str], pathlib.Path]) -> PlanChoice:
    if isinstance(value, str):
        return PlanChoice(name=value, method=value)
    table = Table(value, where)
    kinds = [key for key in ("method", "file", "tune") if table.has(key)]
    if len(kinds) != 1:
        raise Error("expected a method, or one of {method: …}, {file: …} and {tune: …}", "malformed", where)
    method = table.text("method") if kinds == ["method"] else ""
    file = str(path(table.text("file"))) if kinds == ["file"] else ""
    tune = table.table("tune")
    choice = PlanChoice(
        name=table.text("name") if table.has("name") else method or (pathlib.Path(file).stem if file else "tuned"),
        method=method,
        target=tokens(table.any("target", "a length"), table.place("target")) if table.has("target") else 0,
        file=file,
        minutes=tune.number("minutes", 0.1, 100_000, 30) if kinds == ["tune"] else 0,
        texts=tuple(str(path(text)) for text in tune.texts("texts", "files of text")) if tune.has("texts") else (),
    )
    tune.end()
    table.end()
    if file and not pathlib.Path(file).is_file():
        raise Error("there is no such plan file", "input/output", f"{table.place('file')}: {file}")
    return choice


def _check_together(model: Model, campaign: Campaign, where: str) -> None:
    plans = campaign.plans
    if model.engine == "endpoints":
        for plan in plans:
            if plan.name not in model.endpoints:
                said = f'expected the URLs that serve "{plan.name}"'
                raise Error(said, "malformed", f"{where}: {model.name}.endpoints")
    elif model.engine in ("llama.cpp", "llama-server") and not model.path.endswith(".gguf"):
        raise Error(f"{model.engine} runs a .gguf, found {model.path}", "malformed", f"{where}: {model.name}.path")
    if model.check == "table" and not (model.vocabulary or model.path.endswith(".gguf")):
        raise Error("a table is named with a .gguf of the same weights: say which", "malformed",
                    f"{where}: {model.name}.vocabulary")  # fmt: skip
    if model.engine != "llama.cpp" and any(one.cache_types for one in campaign.measurements):
        said = f"{model.engine} has one type of cache at a time: give each a model of its own, with the option for it"
        raise Error(said, "malformed", f"{where}: {model.name}.engine")
    searched = any(plan.minutes for plan in plans)
    if searched and not (model.vocabulary or model.path.endswith(".gguf")):
        raise Error("a search needs a .gguf of the same weights: say which", "malformed",
                    f"{where}: {model.name}.vocabulary")  # fmt: skip


def _options(table: Table, key: str) -> dict[str, str | None]:
    """{--name: value} of scalars; true is a flag, false leaves it out."""

    def one(value: object, where: str) -> str | None:
        if isinstance(value, bool):
            return None if value else ""
        if not isinstance(value, (str, int, float)) or "\0" in str(value):
            wrong(where, "a text, a number, true or false", value)
        return str(value)

    options = table.table(key).rest(one)
    for name in options:
        if not re.fullmatch(r"[A-Za-z][\w-]*", name):
            wrong(table.place(key), "names of options, without dashes before them", name)
    return {name: value for name, value in options.items() if value != ""}


def _environment_value(value: object, where: str) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or "\0" in str(value):
        wrong(where, "a text", value)
    return str(value)


def checked_name(text: str, where: str) -> str:
    """Files and folders are called so."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", text):
        wrong(where, "a name of letters, digits, '.', '-' and '_'", text)
    return text


def _distinct(names: list[str], where: str) -> None:
    """Names are those of folders, too, on file systems that take a and A for the same."""
    seen: dict[str, str] = {}
    for name in names:
        key = as_folder(name).lower()
        if key in seen:
            raise Error(f'"{seen[key]}" and "{name}" would share a folder: give one of them a name', "malformed", where)
        seen[key] = name


def as_folder(name: str) -> str:
    """A plan may be called mrrope-power:p=2."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"


def _paths_from(folder: pathlib.Path) -> Callable[[str], pathlib.Path]:
    """Paths of a campaign are relative to its file; absolute from here on, because workers have another folder."""
    base = folder.absolute()
    return lambda text: base / pathlib.Path(text).expanduser()

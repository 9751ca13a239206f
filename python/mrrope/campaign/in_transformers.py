# SPDX-License-Identifier: MIT
"""What `mrrope eval` does with llama.cpp, with a transformers model: the same protocol, samples, rules and records.

    python -m mrrope.campaign.in_transformers ppl -m FOLDER --plan yarn.json --label yarn -f a.txt --lengths 4k -o run
    python -m mrrope.campaign.in_transformers ruler -m FOLDER --plan yarn.json --label yarn --lengths 4k -o run

The plan goes into the model by mrrope.patch, which checks the tables that the model then computes. A prompt is read in
steps, so memory is that of the weights and the cache. Tasks that ask from files of questions are left to servers.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import pathlib
import sys
import time

from .. import __version__, _core
from ..errors import Error
from ..measuring import Prompt, Reader, Tokens
from ..patching import put, tables
from ..tuning_items import contents_of
from .reading import tokens as parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Work = tuple[str, Callable[[Any], dict[str, Any]]]  # the key of a record, and what makes it of the model

_BUCKET = 256  # tokens, as in docs/evaluation.md
_CHARACTERS = 16  # of a text for each token that is wanted: more than any tokenizer takes
_STORY_BYTES = 1 << 20  # the haystack of mrrope eval where none is given
_DEFAULTS = {"niah": (["niah"], 1, 10), "ruler": (["all"], 20, 0), "infinitebench": (["all"], 20, 0)}


def main(words: list[str]) -> int:
    asked = _asked(words)
    try:
        _Measured(asked).run()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _asked(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("mrrope.campaign.in_transformers")
    parser.add_argument("kind", choices=("ppl", *_DEFAULTS))
    parser.add_argument("-m", "--model", required=True, help="a folder, or a name on the Hub")
    parser.add_argument("--plan", required=True, help="a plan file")
    parser.add_argument("--label", required=True, help="stands as the method in records")
    parser.add_argument("--lengths", required=True, type=_lengths)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("-f", "--file", action="append", default=[], help="texts")
    parser.add_argument("--tasks", type=lambda text: text.split(","))
    parser.add_argument("--samples", type=int)
    parser.add_argument("--depths", type=int)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--haystack")
    parser.add_argument("--shard", default="0/1", help="i/n")
    parser.add_argument("--dtype", default="auto", help="float32, bfloat16, …")
    parser.add_argument("--device-map", default="auto", help="as transformers takes it; cpu")
    parser.add_argument("--attn-implementation", help="eager, sdpa, flash_attention_2")
    return parser.parse_args(words)


def _lengths(text: str) -> list[int]:
    return [parsed(one, "--lengths") for one in text.split(",")]


class _Measured:
    """One model under one plan into one run folder."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self._plan = _core.Plan.from_json(pathlib.Path(asked.plan).read_text(encoding="utf-8"))
        self._factor = 1.0 if str(self._plan.method) == "none" else self._plan.factor
        self._info = {
            "schema": "mrrope.run/1",
            "task": asked.kind,
            "model": pathlib.Path(asked.model).name,
            "model_hash": _hash_of(asked.model),
            "engine": f"transformers {_transformers().__version__}",
            "settings": {"dtype": asked.dtype, "attn-implementation": asked.attn_implementation or "default"},
        }
        self._info |= _facts(asked.model, self._plan)

    def run(self) -> None:
        """Loads the model only if something is missing."""
        run = _core.open_run(self._asked.output, json.dumps(self._info))
        tokens = Tokens(_transformers().AutoTokenizer.from_pretrained(self._asked.model))
        work = self._texts(tokens) if self._asked.kind == "ppl" else self._samples(tokens)
        missing = ((key, measure) for key, measure in work if key not in run)
        first = next(missing, None)
        if first is None:
            return
        model = self._loaded()
        put(model, self._plan)
        for key, measure in itertools.chain([first], missing):
            began = time.monotonic()
            found = measure(model)
            found |= {"schema": "mrrope.record/1", "key": key, "method": self._asked.label, "factor": self._factor}
            run.append(json.dumps({**found, "seconds": round(time.monotonic() - began, 6)}))

    def _loaded(self) -> Any:
        more = {"attn_implementation": self._asked.attn_implementation} if self._asked.attn_implementation else {}
        if self._asked.device_map != "cpu":
            more["device_map"] = self._asked.device_map
        load = _transformers().AutoModelForCausalLM.from_pretrained
        return load(self._asked.model, dtype=self._asked.dtype, **more).eval()

    def _key(self, *parts: object) -> str:
        """Of everything that decides a value."""
        facts = [__version__, *(self._info[key] for key in ("task", "model_hash", "engine", "settings"))]
        return _core.content_hash(json.dumps([*facts, self._plan.to_json(), *parts]))

    # ---- perplexity

    def _texts(self, tokens: Tokens) -> Iterator[Work]:
        lengths = self._asked.lengths
        for file in self._asked.file:
            for at, text in enumerate(contents_of(pathlib.Path(file), _CHARACTERS * max(lengths))):
                name = pathlib.Path(file).name + (f":{at + 1}" if at else "")
                ids = tokens.bos + tokens.of(text)
                reach = max((length for length in lengths if length <= len(ids)), default=0)
                if reach > 1:
                    yield self._key(ids[:reach], sorted(lengths)), functools.partial(self._read, name, ids[:reach])

    def _read(self, name: str, ids: list[int], model: Any) -> dict[str, Any]:
        nll = Reader(model).nll(ids, 1).tolist()
        points = [
            {"length": length, "predicted": length - 1, "nll": sum(nll[: length - 1])}
            for length in sorted(set(self._asked.lengths))
            if length <= len(ids)
        ]
        places = range(0, len(ids), _BUCKET)  # nll[i] is that of token i + 1
        buckets = [sum(nll[max(0, place - 1) : place + _BUCKET - 1]) for place in places]
        inv_freq, scale = min(tables(model), key=lambda table: table[0][-1])  # of the layers that reach farthest
        return {
            "task": "ppl",
            "document": name,
            "document_hash": _core.content_hash(json.dumps(ids)),
            "points": points,
            "bucket": _BUCKET,
            "bucket_nll": buckets,
            "kl_tokens": 0,
            "kl": 0.0,
            "inv_freq": inv_freq,
            "attention_scale": scale,
        }

    # ---- benchmarks

    def _samples(self, tokens: Tokens) -> Iterator[Work]:
        """Of this shard: the same samples as elsewhere."""
        tasks, samples, depths = _DEFAULTS[self._asked.kind]
        generated = _core.generated_tasks(self._asked.kind)
        tasks = self._asked.tasks or tasks
        tasks = generated if tasks == ["all"] else tasks
        for task in tasks:
            if task not in generated:
                raise Error(f'expected one of {", ".join(generated)}', "unsupported", f"--tasks {task}")
        depths = self._asked.depths or depths
        shard, _, shards = self._asked.shard.partition("/")
        samples = self._asked.samples or samples
        for task in tasks:
            slots = _core.samples_of(task, self._asked.lengths, samples, depths, int(shard), int(shards))
            for length, index, depth in slots:
                key = self._key(task, length, self._asked.seed, index, depth, self._asked.haystack)
                yield key, functools.partial(self._answer, tokens, task, length, index, depth)

    def _answer(
        self, tokens: Tokens, task: str, length: int, index: int, depth: float | None, model: Any
    ) -> dict[str, Any]:
        prompt = Prompt(tokens, task, self._haystack(length), length, self._asked.seed, index, depth)
        sample, reader = prompt.sample, Reader(model)
        text, new, cut = prompt.reply(reader, _ends_of(model), sample.max_new_tokens)
        nll, right_tokens = prompt.right_answer(reader)
        answer = {
            "length": length,
            "index": index,
            "depth": sample.depth,
            "prompt_tokens": len(prompt.ids),
            "new_tokens": new,
            "text": text,
            "finish": "length" if cut else "stop",
            "references": sample.references,
            "score": sample.score(text),
            "right": {"nll": nll, "tokens": right_tokens},
        }
        if depth is not None:
            answer["asked_depth"] = depth
        where = f"seed {self._asked.seed}, sample {index}"
        return {"task": task, "document": where, "document_hash": sample.hash, "answer": answer}

    def _haystack(self, length: int) -> str:
        """As `mrrope eval` makes it where none is given."""
        if self._asked.haystack:
            return "\n\n".join(contents_of(pathlib.Path(self._asked.haystack), _CHARACTERS * length))
        return _core.built_in_story(_STORY_BYTES)


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise Error("this engine needs transformers: pip install 'mrrope[transformers]'", "unsupported") from None
    return transformers


def _ends_of(model: Any) -> set[int]:
    ends = model.generation_config.eos_token_id
    return set(ends) if isinstance(ends, (list, tuple)) else {ends} if ends is not None else set()


def _hash_of(model: str) -> str:
    """Of the weights of a folder; a name on the Hub stands for itself."""
    files = sorted(pathlib.Path(model).glob("*.safetensors")) or sorted(pathlib.Path(model).glob("*.bin"))
    names = [f"{file.name} {_core.content_hash_of_file(str(file))}" for file in files]
    return _core.content_hash("\n".join(names or [model]))


def _facts(model: str, plan: _core.Plan) -> dict[str, Any]:
    import datetime
    import os
    import platform

    config = _transformers().AutoConfig.from_pretrained(model)
    return {
        "architecture": str(config.model_type),
        "context_trained": plan.spec.context,
        "served": False,
        "version": __version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "started": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": sys.argv,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: MIT
"""What mrrope says vLLM will do, against what vLLM computes: the engine itself, on a processor.

    $(tools/engine_env vllm_server) -m pytest -rs tests/engines/test_vllm_server.py

Random checkpoints of a few layers (tiny_models.py), trained at 512 tokens by their config, are served for 2048. The log
probabilities of a prompt of 1500 tokens are compared with those of transformers, in double precision, under the table
that `effective()` predicts for the file. test_vllm.py compares the tables of vLLM's layers; here is everything between
the file and the answer.

The tolerance is measured for each model and table: what float32 and speeds that are off by two of its roundings change in
transformers itself, times four for another order of the sums. Attention scales that are off by one percent must fail by
ten times that, and the table of the model as it was trained by a hundred times.
"""

import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mrrope"
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",  # models this small have nothing to share
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_CACHE_ROOT": str(CACHE / "vllm"),
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process: errors arrive as they are
    "TORCH_COMPILE_DISABLE": "1",  # compiling vLLM's helpers takes longer than all else
}
os.environ.update(ENVIRONMENT)
c.needs("vllm._C", "vllm_server")
import torch  # noqa: E402
import tiny_llama  # noqa: E402
import tiny_models as tiny  # noqa: E402
from vllm import LLM, SamplingParams  # noqa: E402
from vllm.model_executor.models import registry  # noqa: E402

registry._run_in_subprocess = lambda ask: ask()  # it keeps CUDA out of a process; here it costs an import per class

PROMPT = tiny.prompt(1500)
ROUNDINGS = 2.0**-23  # of a speed: two roundings in float32


# ---------------------------------------------------------------------------------- the engine


def engine(folder, tokens, options):
    """(log probabilities of the tokens, the class that runs the model), or (None, the error)."""
    settings = dict(max_model_len=tiny.CONTEXT, enforce_eager=True, enable_prefix_caching=False) | options
    if "vision_config" in (folder / "config.json").read_text():
        settings["limit_mm_per_prompt"] = {"image": 0, "video": 0}  # then it asks for no processor of pictures
    try:
        llm = LLM(str(folder), dtype="float32", skip_tokenizer_init=True, disable_log_stats=True, **settings)
        wanted = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)
        answer = llm.generate([{"prompt_token_ids": tokens}], wanted, use_tqdm=False)[0]
        runner = llm.llm_engine.model_executor.driver_worker.worker.model_runner
        found = [step[token].logprob for step, token in zip(answer.prompt_logprobs[1:], tokens[1:])]
        return np.array(found), type(runner.model).__name__
    except Exception as error:  # any failure is an answer
        return None, f"{type(error).__name__}: {error}"


def engine_says(folder, tokens=PROMPT, **options):
    """The same, from a process of its own: vLLM changes the classes of transformers that it runs, and ends with its process."""
    with multiprocessing.get_context("fork").Pool(1) as one:
        return one.apply(engine, (folder, tokens, options))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Checkpoints by model type, each made once."""
    made = {}

    def checkpoint(model_type):
        if model_type not in made:
            made[model_type] = tiny.save(tmp_path_factory.mktemp("trained") / model_type, model_type)
        return made[model_type]

    return checkpoint


class Expected:
    """What transformers computes under a table, and how far from it an engine may be."""

    def __init__(self, checkpoint, groups, tokens=PROMPT):
        self.groups, self.tokens = groups, tokens
        self.exact = tiny.Model(checkpoint)
        self.values = self.exact.log_probabilities(tokens, groups)
        rounded = [dict(g, inv_freq=[w * (1 + ROUNDINGS * (-1) ** i) for i, w in enumerate(g["inv_freq"])]) for g in groups]
        single = tiny.Model(checkpoint, torch.float32).log_probabilities(tokens, rounded)
        self.tolerance = 4 * np.abs(single - self.values).max()

    def distance(self, found):
        """In tolerances: below 1 is the same."""
        return np.abs(found - self.values).max() / self.tolerance

    def of_another(self, groups):
        return self.distance(self.exact.log_probabilities(self.tokens, groups))


def check(checkpoint, folder, context=tiny.CONTEXT, tokens=PROMPT, **options):
    """What the engine makes of `folder`, made from `checkpoint`, is what is predicted."""
    prediction = c.dump("effective", "vllm", folder / "config.json", context)
    assert prediction["loads"], prediction["notes"]
    return check_table(checkpoint, folder, prediction["groups"], context, tokens, **options)


def check_table(checkpoint, folder, groups, context=tiny.CONTEXT, tokens=PROMPT, **options):
    expected = Expected(checkpoint, groups, tokens)
    assert expected.of_another([dict(g, attention_scale=1.01 * g["attention_scale"]) for g in groups]) > 10
    trained_groups = c.dump("effective", "vllm", checkpoint / "config.json")["groups"]
    if groups != trained_groups:
        assert expected.of_another(trained_groups) > 100
    found, runs = engine_says(folder, tokens, max_model_len=context, **options)
    assert found is not None, runs
    distance = expected.distance(found)
    print(f"{folder.name}: {distance:.2f} of a tolerance of {expected.tolerance:.1e}, run by {runs}")
    assert distance < 1
    return runs


# ---------------------------------------------------------------------------------- the files

# What `extend` writes: any table, but for two. Interleaved pairs (GLM 4) and positions in sections (Qwen 2.5 VL) vLLM turns
# by the classic types only.
FAMILIES = {
    "llama": "mrrope-pro",
    "mistral": "mrrope-pro",
    "qwen2": "mrrope-pro",
    "qwen3": "mrrope-pro",
    "gemma2": "mrrope-pro",
    "gemma3_text": "mrrope-pro",
    "phi3": "mrrope-pro",
    "granite": "mrrope-pro",
    "glm4": "yarn",
    "qwen2_5_vl": "yarn",
    "olmo2": "mrrope-pro",
    "smollm3": "mrrope-pro",
    "glm": "mrrope-pro",
}


@pytest.mark.parametrize("model_type", FAMILIES)
def test_the_file_that_extend_writes_is_computed_as_predicted(model_type, trained, tmp_path):
    checkpoint = trained(model_type)
    folder = shutil.copytree(checkpoint, tmp_path / model_type)
    c.mrrope("extend", folder, "-c", tiny.CONTEXT, "--target", "vllm", "--method", FAMILIES[model_type])
    check(checkpoint, folder)


LONG = [1 + 3 * i / 31 + 0.09 * (i % 3) for i in range(32)]
SHORT = [1 + 0.03 * (i % 5) for i in range(32)]
ORIGINAL = {"original_max_position_embeddings": tiny.TRAINED}
TWO_LISTS = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "factor": 4.0, **ORIGINAL}
ROPES = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ORIGINAL},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.3, **ORIGINAL},
    "longrope": dict(TWO_LISTS, attention_factor=1.25),
    "longrope, mscales": dict(TWO_LISTS, attention_factor=1.25, short_mscale=1.05, long_mscale=1.2),
}
# Its own layers, those with two tables, and what it leaves to transformers. (dynamic: by transformers at each length.)
CELLS = [
    *(("llama", rope) for rope in ROPES),
    *(("gemma3_text", rope) for rope in ("linear", "yarn", "longrope, mscales")),
    ("phi3", "longrope, mscales"),
    *(("olmo2", rope) for rope in ("linear", "yarn", "longrope", "longrope, mscales")),
    ("smollm3", "longrope, mscales"),
]


@pytest.mark.parametrize(("model_type", "rope"), CELLS)
def test_files_that_engines_read_in_different_ways_are_computed_as_predicted(model_type, rope, trained, tmp_path):
    checkpoint = trained(model_type)
    path = tiny.with_rope(checkpoint, tmp_path / rope, ROPES[rope], max_position_embeddings=tiny.CONTEXT)
    check(checkpoint, path.parent)


def test_started_for_the_trained_length_it_uses_the_short_list(trained, tmp_path):
    """And by transformers too, which looks at the text."""
    for model_type in ("llama", "olmo2"):
        checkpoint = trained(model_type)
        path = tiny.with_rope(checkpoint, tmp_path / model_type, ROPES["longrope"], max_position_embeddings=tiny.CONTEXT)
        check(checkpoint, path.parent, tiny.TRAINED, PROMPT[: tiny.TRAINED - 1])


@pytest.mark.parametrize("model_type", ["glm4", "cohere"])
def test_a_table_on_interleaved_pairs_is_refused_as_predicted(model_type, trained, tmp_path):
    checkpoint = trained(model_type)
    rope = dict(TWO_LISTS, short_factor=LONG, long_factor=LONG)
    if model_type == "glm4":  # half of each head turns
        rope |= {"short_factor": LONG[:16], "long_factor": LONG[:16]}
    path = tiny.with_rope(checkpoint, tmp_path / model_type, rope, max_position_embeddings=tiny.CONTEXT)
    assert not c.dump("effective", "vllm", path, tiny.CONTEXT)["loads"]
    found, error = engine_says(path.parent)
    assert found is None and "neox_style" in error
    assert "cannot run" in c.mrrope("extend", checkpoint, "-c", tiny.CONTEXT, "--target", "vllm", "--method", "mrrope-pro",
                                    "-o", tmp_path / "refused", check=False).stderr  # fmt: skip


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text"])
def test_the_overrides_that_extend_prints_make_the_plan_without_a_file(model_type, trained):
    checkpoint = trained(model_type)
    delivery = c.dump("deliver", "vllm", checkpoint / "config.json", tiny.CONTEXT, "mrrope-pro")
    words = shlex.split(next(command for command in delivery["commands"] if "--hf-overrides" in command))
    check_table(checkpoint, checkpoint, delivery["groups"], hf_overrides=json.loads(words[words.index("--hf-overrides") + 1]))


# ------------------------------------------------------------------------------------ the server


def wait_for(port, server, log):
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        except OSError:
            time.sleep(1)
    pytest.fail(f"vllm serve did not come up: {log.read_text()[-3000:]}")


def test_the_server_answers_as_predicted(trained, tmp_path):
    """`vllm serve` with the command that extend prints, over HTTP."""
    checkpoint = trained("llama")
    folder = shutil.copytree(checkpoint, tmp_path / "served")
    tiny_llama.save_tokenizer(folder)
    delivery = c.dump("deliver", "vllm", folder / "config.json", tiny.CONTEXT, "mrrope-pro")
    (folder / "config.json").write_text(delivery["config"])
    words = shlex.split(delivery["commands"][0].replace("{}", str(folder)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name(words[0]), *words[1:], "--dtype", "float32", "--enforce-eager", "--port", str(port)]
    log = tmp_path / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True) as server:
        try:
            wait_for(port, server, log)
            body = {"model": str(folder), "prompt": PROMPT, "echo": True, "logprobs": 0, "max_tokens": 1}
            request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})  # fmt: skip
            with urllib.request.urlopen(request, timeout=300) as answer:
                values = json.load(answer)["choices"][0]["logprobs"]["token_logprobs"]
        finally:
            os.killpg(server.pid, signal.SIGTERM)
    assert Expected(checkpoint, delivery["groups"]).distance(np.array(values[1 : len(PROMPT)])) < 1


# ------------------------------------------------------------------------- left to transformers


def classes():
    """{model type: the class that its files name}, of all model types that mrrope knows."""
    from transformers.models.auto import modeling_auto as auto  # pylint: disable=import-outside-toplevel

    text = (c.ROOT / "src/formats/hf_classes.cpp").read_text()
    names = {}
    for model_type in re.findall(r'^    \{"(\w+)", \d', text, re.MULTILINE):
        short = model_type.removesuffix("_model").removesuffix("_text")
        maps = (auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
                auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES)  # fmt: skip
        names[model_type] = [m[t] for m in maps for t in (model_type, short) if t in m]
    return names


def test_the_models_that_are_left_to_transformers_are_those_of_its_registry():
    own = registry._TEXT_GENERATION_MODELS | registry._MULTIMODAL_MODELS
    # Files of Phi-3.5-MoE name a class that vLLM has (PhiMoEForCausalLM), unlike transformers
    without = {t for t, names in classes().items() if names and not set(names) & set(own)} - {"phimoe"}
    rows = next(e for e in c.dump("engines") if e["name"] == "vllm")["exceptions"]
    assert {m for r in rows if re.match("leaves|does not know", r["says"]) for m in r["models"].split()} == without


def test_a_table_on_a_model_that_is_left_to_transformers_wants_the_flag_that_extend_prints(trained, tmp_path):
    folder = shutil.copytree(trained("olmo2"), tmp_path / "compiled")
    yarn = c.dump("deliver", "vllm", folder / "config.json", tiny.CONTEXT, "yarn")
    assert not any("--enforce-eager" in command for command in yarn["commands"])
    delivery = c.dump("deliver", "vllm", folder / "config.json", tiny.CONTEXT, "mrrope-pro")
    assert all("--enforce-eager" in command for command in delivery["commands"])
    (folder / "config.json").write_text(delivery["config"])
    start = "import sys, vllm; vllm.LLM(sys.argv[1], dtype='float32', skip_tokenizer_init=True, max_model_len=2048)"
    compiling = {k: v for k, v in os.environ.items() if k != "TORCH_COMPILE_DISABLE"}
    run = subprocess.run([sys.executable, "-c", start, folder], env=compiling, capture_output=True, text=True, timeout=900)
    assert run.returncode != 0 and "Data-dependent branching" in run.stderr


@pytest.mark.parametrize("model_type", ["diffllama", "minimax"])
def test_layers_that_it_cannot_take_over_are_refused_as_predicted(model_type, trained):
    assert not c.dump("effective", "vllm", trained(model_type) / "config.json")["loads"]
    found, error = engine_says(trained(model_type), max_model_len=tiny.TRAINED)
    assert found is None and "does not dispatch" in error

# SPDX-License-Identifier: MIT
"""libggml-mrrope.so in unmodified programs of llama.cpp: the plan is applied, or the program says why not and stops.

    cmake --preset release -DMRROPE_BUILD_PLUGIN=ON && cmake --build --preset release
    $(tools/engine_env gguf) -m pytest -q tests/plugin

MRROPE_PLUGIN and MRROPE_BIN: the plug-in and the program, by default those of build/release.
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "llama"))
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next two are missing
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tiny_llama  # noqa: E402  pylint: disable=wrong-import-position

RELEASE = harness.ROOT / "build" / "release"
MRROPE = os.environ.get("MRROPE_BIN", str(RELEASE / "mrrope"))
PLUGIN = pathlib.Path(os.environ.get("MRROPE_PLUGIN", RELEASE / "libggml-mrrope.so"))
TINY = harness.ROOT / "tests" / "models" / "tiny-512.gguf"
TEXT = harness.ROOT / "tests" / "texts" / "theory.md"
PHRASE = ["-m", TINY, "-p", "It was", "-n", 8, "-t", 1, "-no-cnv"]
NAMES = ("GGML_BACKEND_PATH", "MRROPE_PLAN", "MRROPE_LENGTH", "MRROPE_PLAN_OPTIONAL")

if not PLUGIN.exists():
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(f"no {PLUGIN}", pytrace=False)
    pytest.skip(f"no {PLUGIN}: cmake --preset release -DMRROPE_BUILD_PLUGIN=ON", allow_module_level=True)


# ---- plans and programs ----------------------------------------------------------------------------------------------


def plan_file(folder, model, *, factor=4, method="mrrope-pro"):
    """A plan for the model, as the commands write it."""
    command = [MRROPE, "plan", model, "--factor", factor, "--method", method, "--json"]
    path = folder / f"{pathlib.Path(model).stem}-{method}.json"
    path.write_text(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)
    return path


def ladder_file(folder, model, *factors):
    """A ladder of rungs at these factors, as the commands write it."""
    rungs = []
    for factor in factors:
        method = "none" if factor == 1 else "mrrope-pro"
        plan = json.loads(plan_file(folder, model, factor=factor, method=method).read_text())
        rungs.append({"name": f"x{factor}", "length": factor * plan["spec"]["context_trained"], "why": "", "plan": plan})
    path = folder / "ladder.json"
    path.write_text(json.dumps({"schema": "mrrope.ladder/1", "source": "", "reserve": 16, "rungs": rungs}))
    return path


def with_plugin(plan=None, optional=False, length=None):
    """Environment variables."""
    return {"GGML_BACKEND_PATH": str(PLUGIN), **({"MRROPE_PLAN": str(plan)} if plan else {}),
            **({"MRROPE_LENGTH": str(length)} if length else {}), **({"MRROPE_PLAN_OPTIONAL": "1"} if optional else {})}


def stock(program):
    """A program of llama.cpp as its packages have them: backends are files that are loaded at the start."""
    return harness.llama_bin(program, "--dl")


def run(program, *arguments, environment=None, folder=None):
    """The finished process; standard output and standard error together in .stdout."""
    clean = {name: value for name, value in os.environ.items() if name not in NAMES}
    path = program if isinstance(program, pathlib.Path) else stock(program)
    return subprocess.run(list(map(str, [path, *arguments])), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          errors="replace", stdin=subprocess.DEVNULL, env={**clean, **(environment or {})}, cwd=folder, timeout=600)


def perplexity(model, *options, text=TEXT, environment=None):
    """Of a text, and the log. llama-perplexity ends without waiting for its own log to be written, one time in ten."""
    for _ in range(10):
        done = run("llama-perplexity", "-m", model, "-f", text, "-t", 1, "--no-warmup", *options, environment=environment)
        assert done.returncode == 0, done.stdout
        if found := re.search(r"Final estimate: PPL = ([0-9.]+)", done.stdout):
            return float(found.group(1)), done.stdout
    pytest.fail(done.stdout)


@pytest.fixture
def logits(monkeypatch):
    """harness.logits with a plan in the plug-in (plan=…), or as it is."""
    def compute(model, plan=None, plugin=False, **options):
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in (with_plugin(plan) if plan or plugin else {}).items():
            monkeypatch.setenv(name, value)
        return harness.logits(model, cache_f32=1, **options)

    return compute


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """Models with weights of float32, by path. With float16 ggml rounds activations to it, and what differs in the last digit of
    a rotation comes out as steps of 1e-4."""
    folder = tmp_path_factory.mktemp("exact")

    def convert(model):
        path = folder / model.name
        if not path.exists():
            harness.run(harness.llama_bin("llama-quantize"), "--allow-requantize", model, path, "F32")
        return path

    return convert


def injected(plan):
    """The same plan for the callback: arguments of harness.logits."""
    table = json.loads(plan.read_text())
    layers = {"layers": table["spec"]["layers"]} if "layers" in table["spec"] else {}
    return {"factors": table["pair_factors"], "attn": table["attention_scale"], **layers}


def distance(a, b):
    """Relative, root mean square."""
    return np.linalg.norm(np.float64(a) - b) / np.linalg.norm(np.float64(b))


# ---- the plan is applied ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qwen2", "qwen3", "gemma3", "llama-rope-freqs", "phi3-longrope", "deepseek2", "qwen2vl", "qwen3vl", "qwen35"])
def test_a_plan_computes_what_it_computes_through_the_callback(name, exact, logits, tmp_path):
    model = exact(harness.tiny_models()[name])
    plan = plan_file(tmp_path, model)
    there, here, without = logits(model, **injected(plan)), logits(model, plan), logits(model)
    # At positions below 48 ggml's angles are wrong by 48 * 32 * 2^-24 = 9e-5 rad at most, and by 1e-6 in the mean; found: 7e-7
    assert distance(here, there) < 1e-5
    assert distance(without, there) > 1e-3, "the plan must show"


def test_without_a_plan_a_model_is_itself(exact, logits):
    for name in ("qwen2", "gemma3", "llama-rope-freqs", "phi3-longrope", "qwen2vl", "qwen3vl"):
        model = exact(harness.tiny_models()[name])
        assert distance(logits(model, plugin=True), logits(model)) < 1e-5
    model = exact(harness.tiny_models()["llama"])
    yarn = {"rope_scaling": "yarn", "rope_scale": 4, "yarn_orig_ctx": 128}
    assert distance(logits(model, plugin=True, **yarn), logits(model, **yarn)) < 1e-5


@pytest.mark.parametrize("first", [0, 100_000])
def test_a_real_model_is_nearer_to_double_than_the_callback(first, logits, tmp_path):
    """Weights and cache in float32, so that the rotation is what differs."""
    model, tokens = harness.smollm2_f32(), 48
    plan = plan_file(tmp_path, model, factor=16)
    table = json.loads(plan.read_text())
    reference = tiny_llama.TinyLlama(model)
    generator = np.random.MT19937()
    generator._legacy_seeding(1)  # pylint: disable=protected-access  # that of std::mt19937
    text = (generator.random_raw(tokens) % reference.w["token_embd.weight"].shape[0]).astype(int)
    exact = reference.logits(text, np.array(table["inv_freq"]), table["attention_scale"], first + np.arange(tokens))
    ours = distance(logits(model, plan, tokens=tokens, first_position=first), exact)
    theirs = distance(logits(model, tokens=tokens, first_position=first, **injected(plan)), exact)
    print(f"\nposition {first}: {ours:.2e} from double with the plug-in, {theirs:.2e} through the callback")
    assert ours < 1e-5
    assert ours < (1.05 if first == 0 else 0.1) * theirs


def test_a_million_tokens_on_attention_is_what_it_was(exact):
    """docs/rotary.md has the figure, tools/rotary_far.py makes it."""
    def change(environment):
        done = run(harness.program("attention"), exact(TINY), TEXT, 256, 2**20, environment=environment)
        return json.loads(done.stdout[done.stdout.index("[{"):])[0]["largest"]

    # Scores of float32, up to 20: 20 * 2^-23 of a weight, a few times over; found: 1.8e-6
    assert change(with_plugin()) < 1e-5
    assert change({}) > 1e-2


def test_ten_million_tokens_on_a_text_is_as_likely_as_near_the_start(tmp_path):
    """With the float16 cache that people have, which tools/exact_study.py looks at.

    Keys are turned, then rounded to float16, and so are queries in flash attention. How they are rounded depends on how far they
    were turned, so even exact angles leave a change of -ln p, which no formula gives. It is measured: as the largest of sixteen
    changes from 0 to positions 200 … 950. From 200 on the slowest pair (1.3e-4 rad per token) has turned by 50 roundings (2^-11),
    so that these sixteen are roundings drawn anew, and ten million tokens on is one draw more. Twice the largest of sixteen is
    about 3.5 standard deviations. There ggml's angles come in steps of half a radian for fast pairs."""
    text, prompts = TEXT.read_bytes()[:8 * 511], tmp_path / "prompts"
    prompts.write_bytes(b"".join(text[511 * i : 511 * (i + 1)] + b"\0\0" for i in range(8)))
    near, far = range(200, 1000, 50), 10**7

    def changes(*positions, environment):
        done = run(harness.program("shifted"), TINY, prompts, 0, *positions, environment=environment)
        readings = json.loads(done.stdout[done.stdout.index('{"backends"'):])["readings"]
        mean = {position: np.mean([r["nll"] for r in readings if r["position"] == position]) for position in (0, *positions)}
        return {position: abs(mean[position] - mean[0]) for position in positions}

    exact = changes(*near, far, environment=with_plugin())
    floor = max(exact[position] for position in near)
    theirs = changes(far, environment={})[far]
    print(f"\nchange of -ln p: {exact[far]:.1e} at {far}, {floor:.1e} at most near the start; with ggml's angles {theirs:.1e}")
    assert exact[far] < 2 * floor
    assert theirs > 2 * floor


def test_llama_perplexity_finds_what_the_callback_finds(exact, tmp_path):
    model, text = exact(TINY), tmp_path / "text"
    text.write_text(TEXT.read_text()[:4500])  # two chunks
    plan, same = plan_file(tmp_path, model, factor=8), ["-fa", "off", "-ctk", "f32", "-ctv", "f32"]
    found, log = perplexity(model, "-c", 2048, "-b", 512, *same, text=text, environment=with_plugin(plan))
    command = [MRROPE, "eval", "ppl", "-m", model, "-f", text, "--factor", 8, "--methods", "mrrope-pro", "--lengths", 2048,
               "--protocol", "llama-perplexity", *same, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert found == pytest.approx(json.loads(done.stdout)["results"][0]["ppl"], rel=2e-5)  # it prints four digits
    assert log.count("mrrope: ") == 1
    assert f"mrrope: layers 0-3 rotate by {plan} (mrrope-pro, 512 -> 4096 tokens)" in log
    assert perplexity(model, "-c", 2048, "-b", 512, *same, text=text)[0] > 2 * found, "the plan must show"


@pytest.mark.parametrize("length, rung, factor", [("100", "x1", 1), ("512", "x1", 1), ("513", "x4", 4), ("2k", "x4", 4), ("2049", "x8", 8)])
def test_of_a_ladder_the_rung_of_the_length_is_used(length, rung, factor, exact, logits, monkeypatch, tmp_path):
    model = exact(TINY)
    ladder = ladder_file(tmp_path, model, 1, 4, 8)
    alone = logits(model, plan_file(tmp_path, model, factor=factor, method="none" if factor == 1 else "mrrope-pro"))
    others = [logits(model, plan_file(tmp_path, model, factor=other)) for other in {4, 8} - {factor}]
    monkeypatch.setenv("GGML_BACKEND_PATH", str(PLUGIN))
    monkeypatch.setenv("MRROPE_PLAN", str(ladder))
    monkeypatch.setenv("MRROPE_LENGTH", length)
    found = harness.logits(model, cache_f32=1)
    assert np.array_equal(found, alone)
    assert all(distance(found, other) > 1e-4 for other in others)
    done = run("llama-bench", "-m", model, "-p", 16, "-n", 0, "-r", 1, "-t", 1, environment=with_plugin(ladder, length=length))
    assert f"rotate by {ladder}, rung {rung} (" in done.stdout, done.stdout


def test_gemma_says_which_layers_it_extends(tmp_path):
    model = harness.tiny_models()["gemma3"]
    plan = plan_file(tmp_path, model)
    done = run("llama-bench", "-m", model, "-p", 32, "-n", 1, "-r", 1, "-t", 1, environment=with_plugin(plan))
    assert done.returncode == 0, done.stdout
    far = json.loads(plan.read_text())["spec"]["layers"]
    said = next(line for line in done.stdout.splitlines() if line.startswith("mrrope: "))
    assert said.startswith(f"mrrope: layers {', '.join(map(str, far))} rotate by {plan}") and "as the file says" in said


def test_llama_cli_and_llama_completion_run_with_a_plan(tmp_path):
    plan = plan_file(tmp_path, TINY)
    done = run("llama-completion", *PHRASE, environment=with_plugin(plan))
    assert done.returncode == 0 and "rotate by" in done.stdout, done.stdout
    done = run("llama-cli", "-m", TINY, "-p", "It was", "-n", 8, "-t", 1, "--single-turn", environment=with_plugin(plan))
    assert done.returncode == 0 and "rotate by" in done.stdout, done.stdout


def test_the_folder_of_backends_works_under_a_name_that_llama_cpp_looks_for(tmp_path):
    plan = plan_file(tmp_path, TINY)
    (tmp_path / "libggml-zendnn-mrrope.so").symlink_to(PLUGIN)
    done = run("llama-completion", *PHRASE, environment={"MRROPE_PLAN": str(plan)}, folder=tmp_path)
    assert done.returncode == 0 and "rotate by" in done.stdout, done.stdout


def test_a_build_with_its_backends_inside_needs_an_option_that_makes_it_look_for_others(tmp_path):
    """Such a program looks for backends only if an option may name one, and else runs the model as its file says."""
    program, plan = harness.llama_bin("llama-completion"), plan_file(tmp_path, TINY)
    done = run(program, *PHRASE, environment=with_plugin(plan))
    assert done.returncode == 0 and "mrrope: " not in done.stdout, "llama.cpp has changed: docs/plugin.md must, too"


@pytest.mark.parametrize("build", ["default", "packages"])
def test_a_program_that_is_told_of_the_device_runs_the_plan_or_stops(build, tmp_path):
    """-dev MRROPE, as docs/plugin.md has it: also a build that looks for no backends loads the plug-in; without one nothing runs."""
    plan = plan_file(tmp_path, TINY)
    for name, arguments in programs():
        program = harness.llama_bin(name) if build == "default" else stock(name)
        device = ["-dev", "MRROPE", "-ngl", 0]
        done = run(program, *arguments, *device, environment=with_plugin(plan))
        assert done.returncode == 0 and "rotate by" in done.stdout, done.stdout
        done = run(program, *arguments, *device, environment={"MRROPE_PLAN": str(plan)})
        assert done.returncode != 0 and "invalid device: MRROPE" in done.stdout, done.stdout


@pytest.mark.parametrize("build", ["default", "packages"])
def test_the_first_command_of_the_document_serves_with_the_plan(build, tmp_path):
    """As it stands there, with another model and its lengths: the answer is that of the extended file without a plug-in."""
    document = (harness.ROOT / "docs" / "plugin.md").read_text()
    words = shlex.split(re.search(r"\n  llama-server (.*?)\n```", document, re.DOTALL).group(1).replace("\\\n", " "))
    assert words[:4] == ["-m", "qwen2.5-7b-instruct-q4_k_m.gguf", "-c", "131072"]
    options = ["-c", 4096] + [word.replace("qwen2", "llama").replace("131072", "4096") for word in words[4:]]
    plan, extended = plan_file(tmp_path, TINY, factor=8), tmp_path / "extended.gguf"
    subprocess.run([MRROPE, "extend", TINY, "--factor", "8", "-o", extended], capture_output=True, check=True)
    prompt = TEXT.read_text()[:2000]
    program = harness.llama_bin("llama-server") if build == "default" else stock("llama-server")
    with server(TINY, with_plugin(plan), *options, "-np", 1, program=program) as (process, url):
        here = complete(url, prompt)
        process.kill()
        assert "mrrope: layers 0-" in process.stdout.read()
    with server(extended, {}, "-c", 4096, "-np", 1, program=program) as (_, url):
        there = complete(url, prompt)
    assert here["tokens_evaluated"] > 1900
    logprob = [answer["completion_probabilities"][0]["top_logprobs"][0]["logprob"] for answer in (here, there)]
    assert here["content"] == there["content"] and logprob[0] == pytest.approx(logprob[1], abs=0.02)  # f16 cache


# ---- servers ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def server(model, environment, *options, program=None):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    clean = {name: value for name, value in os.environ.items() if name not in NAMES}
    command = [program or stock("llama-server"), "-m", model, "--port", port, "-t", 1, *options]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**clean, **environment}) as process:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                    if answer.status == 200:
                        break
                if process.poll() is not None:
                    break
                time.sleep(0.1)
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def complete(url, prompt, **options):
    body = json.dumps({"prompt": prompt, "n_predict": 1, "temperature": 0, "n_probs": 3, **options}).encode()
    request = urllib.request.Request(url + "/completion", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def test_llama_server_extends_a_model_beyond_its_file(tmp_path):
    """Four times the trained length, in a slot that is as long: the answer is that of the extended file."""
    plan = plan_file(tmp_path, TINY, factor=8)
    extended = tmp_path / "extended.gguf"
    subprocess.run([MRROPE, "extend", TINY, "--factor", "8", "-o", extended], capture_output=True, check=True)
    prompt = TEXT.read_text()[:2000]
    longer = ["-c", 4096, "-np", 1]
    with server(TINY, with_plugin(plan), *longer, "--override-kv", "llama.context_length=int:4096") as (_, url):
        here = complete(url, prompt)
    with server(extended, {}, *longer) as (_, url):
        there = complete(url, prompt)
    assert here["tokens_evaluated"] > 1900
    assert here["content"] == there["content"]
    probability = [answer["completion_probabilities"][0]["top_logprobs"][0]["logprob"] for answer in (here, there)]
    assert probability[0] == pytest.approx(probability[1], abs=0.02)  # f16 cache


# ---- or the program says why not, and stops --------------------------------------------------------------------------


def programs():
    yield "llama-bench", ["-m", TINY, "-p", 16, "-n", 0, "-r", 1, "-t", 1]
    yield "llama-perplexity", ["-m", TINY, "-f", TEXT, "-c", 256, "--chunks", 1, "-t", 1]
    yield "llama-completion", PHRASE
    yield "llama-cli", ["-m", TINY, "-p", "It was", "-n", 4, "-t", 1, "--single-turn"]


@pytest.mark.parametrize("bad", ["missing", "torn", "folder"])
def test_a_plan_that_cannot_be_read_stops_every_program(bad, tmp_path):
    plan = plan_file(tmp_path, TINY)
    if bad == "missing":
        plan = tmp_path / "nowhere.json"
    elif bad == "torn":
        plan.write_text(plan.read_text()[:400])
    else:
        plan = tmp_path
    for program, arguments in programs():
        done = run(program, *arguments, environment=with_plugin(plan))
        assert done.returncode != 0, program + done.stdout
        assert f"mrrope: MRROPE_PLAN={plan} cannot be used: " in done.stdout, program
        done = run(program, *arguments, environment=with_plugin(plan, optional=True))
        assert done.returncode == 0, program + done.stdout
        assert "The model rotates as its file says (MRROPE_PLAN_OPTIONAL=1)" in done.stdout
    with server(TINY, with_plugin(plan)) as (process, _):
        assert process.wait(60) != 0
        assert "cannot be used" in process.stdout.read()


@pytest.mark.parametrize("length, why", [
    (None, "it is a ladder, and keys in the cache belong to one rung"), ("4097", "MRROPE_LENGTH=4097 is beyond the last rung, which takes 4k"),
    ("long", "MRROPE_LENGTH: "), ("-5", "MRROPE_LENGTH: "),
])
def test_a_ladder_without_a_length_that_it_takes_stops_every_program(length, why, tmp_path):
    ladder = ladder_file(tmp_path, TINY, 1, 4, 8)
    for program, arguments in programs():
        done = run(program, *arguments, environment=with_plugin(ladder, length=length))
        assert done.returncode != 0, program + done.stdout
        assert f"mrrope: MRROPE_PLAN={ladder} cannot be used: " in done.stdout and why in done.stdout, done.stdout
    done = run("llama-bench", *next(programs())[1], environment=with_plugin(ladder, optional=True, length=length))
    assert done.returncode == 0 and why in done.stdout and "The model rotates as its file says" in done.stdout
    broken = json.loads(ladder.read_text())
    broken["rungs"][1]["plan"]["inv_freq"][3] *= 2
    ladder.write_text(json.dumps(broken))
    done = run("llama-bench", *next(programs())[1], environment=with_plugin(ladder, length=512))
    assert done.returncode != 0 and "not a ladder: rungs[1].plan." in done.stdout, done.stdout


def test_an_unusable_optional_plan_changes_nothing(tmp_path):
    plain, _ = perplexity(TINY, "-c", 256, "--chunks", 4)
    beside, _ = perplexity(TINY, "-c", 256, "--chunks", 4, environment=with_plugin(tmp_path / "nowhere.json", optional=True))
    assert beside == plain


def test_a_plan_for_another_model_stops_every_program(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(subprocess.run([MRROPE, "plan", "--spec", "dim=64,base=1e6,ctx=512", "-c", "2k", "--json"], capture_output=True,
                                    text=True, check=True).stdout)
    for program, arguments in programs():
        done = run(program, *arguments, environment=with_plugin(other))
        assert "the plan is for another model: layer 0 has base 10000, the plan 1e+06" in done.stdout, program
        assert done.returncode != 0, program + done.stdout
    with server(TINY, with_plugin(other)) as (process, _):
        assert process.wait(60) != 0
    with server(TINY, with_plugin(other), "--fit", "off") as (_, url):  # makes no context to try: finds out too late to stop
        with pytest.raises(urllib.error.HTTPError):
            complete(url, "It was")


def test_a_plan_for_the_same_model_without_its_factors_is_refused(tmp_path, logits):
    """Llama 3 and 3.1, in small. llama-server tries a model without weights first: it stops with the plan of another, and goes on
    with its own, whose factors it cannot compare yet."""
    model = harness.tiny_models()["llama-rope-freqs"]
    other = tmp_path / "other.json"
    other.write_text(subprocess.run([MRROPE, "plan", "--spec", "dim=64,base=5e5,ctx=128k", "-c", "256k", "--json"], capture_output=True,
                                    text=True, check=True).stdout)
    with pytest.raises(harness.Refused, match="the factors of layer 0 are not those it was made for"):
        logits(model, other)
    with server(model, with_plugin(other)) as (process, _):
        assert process.wait(60) != 0
    with server(model, with_plugin(plan_file(tmp_path, model))) as (_, url):
        assert "content" in complete(url, "It was")


def test_another_ggml_is_refused(tmp_path):
    """ggml_version() of another release, put in front of the real one."""
    source, other = tmp_path / "version.c", tmp_path / "other.so"
    source.write_text('const char *ggml_version(void) { return "0.26.0"; }')
    harness.run("gcc", "-shared", "-fPIC", source, "-o", other)
    plan, arguments = plan_file(tmp_path, TINY), ["-m", TINY, "-p", 16, "-n", 0, "-r", 1, "-t", 1]
    message = "libggml-mrrope.so was built for ggml 0.25.1, this program has 0.26.0"
    done = run("llama-bench", *arguments, environment={**with_plugin(), "LD_PRELOAD": str(other)})
    assert done.returncode == 0 and message in done.stdout, done.stdout
    done = run("llama-bench", *arguments, environment={**with_plugin(plan), "LD_PRELOAD": str(other)})
    assert done.returncode != 0 and message in done.stdout, done.stdout


def test_where_a_gpu_may_compute_it_does_nothing_and_says_so(tmp_path):
    """A device of an RPC server is a GPU to llama.cpp."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with subprocess.Popen([stock("ggml-rpc-server"), "-p", str(port)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as rpc:
        try:
            time.sleep(1)
            remote = ["-c", 256, "--chunks", 4, "--rpc", f"127.0.0.1:{port}"]
            for layers in (0, 2, 99):  # none, some and all of them there
                plain, _ = perplexity(TINY, *remote, "-ngl", layers)
                beside, log = perplexity(TINY, *remote, "-ngl", layers, environment=with_plugin(plan_file(tmp_path, TINY)))
                assert beside == plain
                assert "RPC0 may compute here" in log and "is not applied" in log
        finally:
            rpc.kill()

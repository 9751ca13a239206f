# SPDX-License-Identifier: MIT
"""tools/train_lab.py on texts of random words: a killed run goes on as if it had not been, and unmodified llama.cpp reads the
file as the tool does.

    $(tools/engine_env train) -m pytest -q tests/lab
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "llama"), str(ROOT / "tools")]
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where gguf is missing

torch = pytest.importorskip("torch", reason="tools/engine_env train")
import train_lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import gguf_file, muon  # noqa: E402  pylint: disable=wrong-import-position
from lab.model import Rotation  # noqa: E402  pylint: disable=wrong-import-position

# The same program with steps of 2 rows, a line and a checkpoint for each, and no measuring at the end.
SMALL = f"""
import sys; sys.path.insert(0, {str(ROOT / "tools")!r})
import train_lab
train_lab.recipe.TOKENS_PER_STEP, train_lab.LOG_STEPS, train_lab.CHECKPOINT_SECONDS = 256, 1, 0
train_lab.measure.progress = lambda *_: {{}}
train_lab.main()
"""
STEPS = 24


@pytest.fixture(scope="module", name="data")
def _data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "novels").mkdir()
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdluc", k=rng.randint(2, 8))) for _ in range(900)]
    for name in ("a-novel", "the-moonstone"):
        (folder / "novels" / f"{name}.md").write_text(" ".join(rng.choices(words, k=30_000)))
    return folder


def start(run, data, **options):
    command = [sys.executable, "-c", SMALL, "train", run, "--shape", "smoke", "--steps", str(STEPS), "--threads", "1"]
    return subprocess.Popen(command, env=os.environ | {"MRROPE_DATA": str(data)}, **options)


def lines(run):
    path = run / "log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")] if path.exists() else []


def losses(run):
    return [(line["step"], line["losses"]) for line in lines(run)]


@pytest.fixture(scope="module", name="whole")
def _whole(data, tmp_path_factory):
    run = tmp_path_factory.mktemp("whole")
    assert start(run, data).wait() == 0
    return run


def when_at(step, run, process):
    deadline = time.time() + 600  # on a machine with much else to do
    while len(lines(run)) < step:
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.01)


def test_killed_run_goes_on_with_the_same_losses(data, whole, tmp_path):
    (tmp_path / "tokens.json").write_bytes((whole / "tokens.json").read_bytes())
    process = start(tmp_path, data)
    when_at(8, tmp_path, process)
    process.kill()
    process.wait()
    assert 8 <= len(lines(tmp_path)) < STEPS
    assert start(tmp_path, data).wait() == 0
    assert [step for step, _ in losses(tmp_path)] == list(range(1, STEPS + 1))
    assert losses(tmp_path) == losses(whole)


def test_sigterm_ends_with_a_checkpoint_of_the_last_line(data, whole, tmp_path):
    (tmp_path / "tokens.json").write_bytes((whole / "tokens.json").read_bytes())
    process = start(tmp_path, data)
    when_at(3, tmp_path, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert torch.load(tmp_path / "checkpoint.pt")["step"] == lines(tmp_path)[-1]["step"] < STEPS


def test_second_process_is_refused(data, whole):
    with train_lab.lock(whole):
        assert start(whole, data, stderr=subprocess.DEVNULL).wait() == 1
    assert len(lines(whole)) == STEPS


def three_steps(optimizer, weights):
    """How far the weights have gone after three steps on gradients of which the second turns back."""
    rng, before = np.random.RandomState(3), [weight.detach().clone() for weight in weights]
    for sign in (1, -1, 1):
        for weight in weights:
            weight.grad = torch.tensor(sign * rng.standard_normal(weight.shape) @ np.diag(np.geomspace(1, 0.1, weight.shape[1]))).float()
        optimizer.step()
    return [weight.detach() - old for weight, old in zip(weights, before)]


def test_muon_steps_as_the_optimizer_of_torch_does():
    shapes = ((48, 32), (32, 48), (48, 32), (32, 32))
    ours, theirs = ([torch.nn.Parameter(torch.ones(shape)) for shape in shapes] for _ in range(2))
    optimizer = muon.Muon(ours, weight_decay=0.05)
    optimizer.param_groups[0]["lr"] = 0.01
    made = three_steps(optimizer, ours)
    wanted = three_steps(torch.optim.Muon(theirs, lr=0.01, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"), theirs)
    # torch rounds to bfloat16, 2^-9 at most, in each of 15 products of a step; the quintic's slope of 3.4 at zero lets what is small
    # grow fivefold. The three steps are nearly independent: 2^-9 * sqrt(15) * 5 = 4 %. Another rate or momentum is beyond 10 %.
    for one, other in zip(made, wanted):
        assert (one - other).norm() < 0.04 * other.norm()


@pytest.fixture(scope="module", name="exported")
def _exported(data, whole):
    subprocess.run([sys.executable, ROOT / "tools" / "train_lab.py", "export", whole, whole / "lab.gguf"], check=True,
                   env=os.environ | {"MRROPE_DATA": str(data)})
    return whole / "lab.gguf"


def test_a_file_is_read_back_as_the_model_that_was_written(whole, exported):
    model, _ = train_lab.load(whole)
    again = gguf_file.read(exported)
    assert again.shape == model.shape
    for (name, written), (same_name, read) in zip(model.state_dict().items(), again.state_dict().items(), strict=True):
        assert name == same_name
        assert torch.equal(read, written.half().float() if written.dim() == 2 else written)


def test_the_last_leg_begins_with_the_weights_of_a_file_and_a_checkpoint_goes_before_them(exported, whole, tmp_path):
    steps = train_lab.recipe.STEPS
    (tmp_path / "tokens.json").write_bytes((whole / "tokens.json").read_bytes())
    model, _, step, _ = train_lab.start(tmp_path, "smoke", 1, steps, exported)
    assert step == train_lab.recipe.LEGS[-1][0]
    for (_, begun), read in zip(model.state_dict().items(), gguf_file.read(exported).state_dict().values(), strict=True):
        assert torch.equal(begun, read)
    assert train_lab.start(whole, "smoke", 1, STEPS, exported)[2] == STEPS


def test_weights_of_other_tokens_are_refused(exported, whole, tmp_path):
    merges = json.loads((whole / "tokens.json").read_text())
    (tmp_path / "tokens.json").write_text(json.dumps([merges[1], merges[0], *merges[2:]]))
    with pytest.raises(SystemExit, match="other tokens"):
        train_lab.start(tmp_path, "smoke", 1, train_lab.recipe.STEPS, exported)


TEXT = """Call me Ishmael.  Some years ago--never mind how long, “I've” seen 1234567 of 89; it's\tl'été\n\n\n 12
tasty-wombat's:
VAR QXZJK = VAR ABCDE 5d9dc9f8-9531-4ed9-88e2-36f681e74ef5 {"a": "b"}_x_ 3.  \n   7\n"""


def test_llama_cpp_finds_the_same_tokens(whole, exported, tmp_path):
    (tmp_path / "text").write_text(TEXT)
    command = [harness.llama_bin("llama-tokenize"), "-m", exported, "-f", tmp_path / "text", "--ids", "--log-disable"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    assert json.loads(printed.splitlines()[-1]) == [train_lab.bpe.BOS, *train_lab.load(whole)[1](TEXT)]


# The file has F16 and llama.cpp rounds what it multiplies by it, keys and values to F16, too: 2^-11 at most, 20 times on the way
# through two layers. Rounding is as often up as down, so 2^-11 * sqrt(20) / sqrt(3) = 0.13 % of the size of logits; the largest
# of 48 * 2048 is 4.5 times that. A wrong rotation or order of heads is two orders above.
TOLERANCE = 0.006


def test_llama_cpp_computes_the_same_logits(whole, exported):
    model, _ = train_lab.load(whole)
    theirs = harness.logits(exported)
    drawn = np.random.RandomState(1).randint(0, 2**32, len(theirs), dtype=np.uint32)  # std::mt19937, as in logits.cpp
    tokens = torch.tensor([(drawn % theirs.shape[1]).tolist()])
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.copy_(parameter.half())
        ours = model.logits(tokens, Rotation(tokens.shape[1]))[0].numpy()
    assert abs(ours - theirs).max() < TOLERANCE * ours.std()

# SPDX-License-Identifier: MIT
"""mrrope.tune on models of transformers 4 and 5: what it measures, that it goes on, and that it leaves models alone.

    MRROPE_REQUIRE_ENGINES=1 PYTHONPATH=<the wheel, unpacked> $(tools/engine_env transformers5) -m pytest python/tests/test_tune_model.py
"""
import math
import os
import pathlib
import subprocess
import sys

import pytest

import mrrope
from mrrope import measuring, tuning_items

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import gguf  # noqa: F401  pylint: disable=unused-import
    import torch
    import transformers
    from tokenizers import processors
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError as problem:
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(f"this python lacks transformers or gguf ({problem}); see tools/test_wheel", pytrace=False)
    pytest.skip(f"no transformers or no gguf in this python ({problem}); see tools/test_wheel", allow_module_level=True)

import tiny_model  # noqa: E402  pylint: disable=wrong-import-position

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
MODEL = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models" / "tiny-512.gguf"
SMALL = {"vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "head_dim": 32, "max_position_embeddings": 128, "pad_token_id": 0, "eos_token_id": None}
FAMILIES = {
    "llama": {},
    "qwen3": {},
    "gemma3_text": {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 32},
}


def small(family="llama"):
    torch.manual_seed(5)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**SMALL, **FAMILIES[family]})).eval()


def some_tokens(count, seed=1):
    return torch.randint(0, 300, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def nll_in_one_pass(model, tokens):
    """All logits at once, in double."""
    with torch.no_grad():
        rows = model(torch.tensor([tokens])).logits[0, :-1].double()
    return -rows.log_softmax(-1).gather(-1, torch.tensor(tokens[1:])[:, None])[:, 0]


# ---- Reading -------------------------------------------------------------------------------------------------------

# Logits of these models are below 10, and a float32 of that size has an ulp of 1e-6. Sums of some hundred terms in another
# order are off by some ulps.
ROUNDING = 2e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_read_in_steps_is_as_likely_as_in_one_pass(family, monkeypatch):
    model = small(family)
    monkeypatch.setattr(measuring, "_STEP", 48)
    tokens = some_tokens(200)
    wanted = nll_in_one_pass(model, tokens)
    for first in (1, 2, 48, 49, 130, 199):
        assert (measuring.Reader(model).nll(tokens, first) - wanted[first - 1 :]).abs().max() < ROUNDING, first


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reader_that_goes_back_forgets_what_came_after(family):
    model = small(family)
    tokens, other = some_tokens(90), some_tokens(90, seed=2)
    reader = measuring.Reader(model)
    for text, first in ((tokens, 80), (tokens[:85] + other[:5], 85), (tokens[:85], 70), (other, 3), (tokens, 1)):
        assert (reader.nll(text, first) - nll_in_one_pass(model, text)[first - 1 :]).abs().max() < ROUNDING
    assert reader.likeliest(tokens) == int(model(torch.tensor([tokens])).logits[0, -1].argmax())


def test_rows_of_logits_are_few_where_the_vocabulary_is_large(monkeypatch):
    model = small()
    monkeypatch.setattr(measuring, "_LOGITS", 300 * 20)
    rows = []
    model.register_forward_hook(lambda module, given, out: rows.append(out.logits.shape[1]))
    measuring.Reader(model).nll(some_tokens(200), 101)
    assert max(rows) == 20 and sum(rows) == 99 + 1  # the step before the first row keeps the one it cannot leave out


def test_half_precision_is_summed_in_float32():
    """In bfloat16 the sum alone would be off by 2^-9 of ln 300, 0.01 nats."""
    model = small().to(torch.bfloat16)
    tokens = some_tokens(64)
    with torch.no_grad():
        rows = model(torch.tensor([tokens[:-1]])).logits[0].double()  # the same shapes: others are rounded otherwise
    wanted = -rows.log_softmax(-1).gather(-1, torch.tensor(tokens[1:])[:, None])[:, 0]
    assert (measuring.Reader(model).nll(tokens, 1) - wanted).abs().max() < 1e-5


# ---- Tokenizers ----------------------------------------------------------------------------------------------------

TEMPLATE = "{{ bos_token }}{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}<|assistant|>{% if enable_thinking is false %}<think></think>{% endif %}"


def tokenizer_of(bos=True, template=None):
    tokenizer = tiny_model.tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|end|>", "<|assistant|>"]})
    if not bos:
        tokenizer.backend_tokenizer.post_processor = processors.ByteLevel()
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("bos", [True, False])
def test_a_text_is_read_as_text_and_begins_as_the_model_wants(bos):
    tokenizer = tokenizer_of(bos)
    tokens = measuring.Tokens(tokenizer)
    assert tokens.bos == ([tokenizer.bos_token_id] if bos else []) and tokens.frame_tokens == len(tokens.bos)
    assert len(tokens.of("ab<|end|>c")) == len("ab<|end|>c")  # bytes, not a marker
    assert tokens.of("") == []


def test_a_prompt_stands_in_the_chat_template_with_one_bos_and_an_empty_thought():
    tokenizer = tokenizer_of(template=TEMPLATE)
    prompt = measuring.Prompt(measuring.Tokens(tokenizer), "passkey", "", 900, 1, 0)
    text = tokenizer.decode(prompt.ids)
    assert prompt.ids.count(tokenizer.bos_token_id) == 1 and text.startswith("<s><|user|>")
    assert "<|end|><|assistant|><think></think>" + prompt.sample.answer_prefix in text
    assert len(prompt.ids) <= 900
    (whole, first), = prompt.right
    assert whole[:first] == prompt.ids[:first] and tokenizer.decode(whole[first:]).strip() == prompt.sample.answers[0].strip()


def test_a_template_that_changes_the_text_is_refused():
    with pytest.raises(mrrope.Error, match="does not keep"):
        measuring.Tokens(tokenizer_of(template="{{ messages[0].content | upper }}"))


# ---- Tuning --------------------------------------------------------------------------------------------------------


def tune(model, **options):
    return mrrope.tune(model, tiny_model.tokenizer(), "1k", **{"tokens": 60_000, **options})


@pytest.fixture(scope="module", name="tiny")
def fixture_tiny():
    return tiny_model.model(MODEL)


@pytest.fixture(scope="module", name="tuned")
def fixture_tuned(tiny, tmp_path_factory):
    record = tmp_path_factory.mktemp("tune") / "tuned.jsonl"
    seen = []
    result = tune(tiny, record=record, progress=lambda *word: seen.append(word))
    return record, result, seen


def test_a_model_is_tuned_and_its_plan_can_be_used(tiny, tuned):
    _, result, seen = tuned
    assert [c.name for c in result.candidates][:2] == ["yarn", "mrrope-pro"] and len(result.candidates) > 5
    assert result.recommended in ("tuned", result.best_fixed)
    assert str(result.plan.method) == (result.tuned if result.recommended == "tuned" else result.best_fixed)
    assert mrrope.Plan.from_json(result.plan.to_json()) == result.plan and result.plan.context == 1024
    with mrrope.patch(tiny, result.plan):
        pass
    assert {d.metric for d in result.verdict} == {"ppl_long", "ppl_short", "answer_nll", "score"}
    assert result.tuned in str(result) and str(result.plan.method) in str(result).splitlines()[-1]
    done = [word[0] for word in seen]
    assert done == sorted(done) and done[0] == 0 and "yarn" in seen[0][2] and "none" in seen[-1][2]
    assert 0.8 < done[-1] / seen[-1][1] <= 1.1


def test_what_is_recorded_is_not_measured_again(tiny, tuned):
    record, result, _ = tuned
    before = record.read_bytes()
    passes = []
    hook = tiny.register_forward_hook(lambda *_: passes.append(1))
    again = tune(tiny, record=record)
    hook.remove()
    assert not passes and record.read_bytes() == before
    assert str(again) == str(result) and again.plan == result.plan


def test_a_record_of_another_model_seed_or_length_is_of_no_use(tiny, tuned, tmp_path):
    record, _, _ = tuned
    copy = tmp_path / "tuned.jsonl"
    for change in ({"context": "2k"}, {"weights": True}):
        copy.write_bytes(record.read_bytes())
        other = tiny_model.model(MODEL)
        if "weights" in change:
            with torch.no_grad():
                other.model.layers[1].mlp.up_proj.weight.mul_(1.01)
        passes = []

        def stop(*_, passes=passes):
            passes.append(1)
            raise KeyboardInterrupt

        other.register_forward_hook(stop)
        with pytest.raises(KeyboardInterrupt):
            mrrope.tune(other, tiny_model.tokenizer(), change.get("context", "1k"), tokens=60_000, record=copy)
        assert passes


class Stop(BaseException):
    """Neither an Exception nor a KeyboardInterrupt."""


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, Stop])
def test_a_model_is_left_as_it_was_however_it_ends_and_the_next_run_finds_the_same(kind, tuned, tmp_path):
    whole, result, _ = tuned
    lines = whole.read_bytes().splitlines(keepends=True)
    record = tmp_path / "tuned.jsonl"
    record.write_bytes(b"".join(lines[:30] + lines[60:]))  # the rest is in the search, where tables are tried
    model = tiny_model.model(MODEL)
    model.train()
    model.model.layers[0].eval()  # somebody froze this one
    flags = [module.training for module in model.modules()]
    tokens = torch.tensor([some_tokens(40)]) % 256
    before = model(tokens).logits
    rotary = dict(vars(model.model.rotary_emb))
    passes = []

    def fail_in_time(*_):
        passes.append(1)
        if len(passes) == 20:
            assert "_mrrope_patch" in vars(model)
            raise kind("out of memory")

    hook = model.register_forward_hook(fail_in_time)
    with pytest.raises(kind):
        tune(model, record=record)
    hook.remove()
    assert len(lines) - 30 < record.read_text().count("\n") < len(lines)
    assert [module.training for module in model.modules()] == flags
    assert vars(model.model.rotary_emb).keys() == rotary.keys() and "_mrrope_patch" not in vars(model)
    assert torch.equal(model(tokens).logits, before)
    assert str(tune(model, record=record)) == str(result)
    assert [module.training for module in model.modules()] == flags and torch.equal(model(tokens).logits, before)


def test_the_example_goes_on_from_a_record_and_writes_the_plan(tiny, tuned, tmp_path):
    record, result, _ = tuned
    tiny_model.save(MODEL, tmp_path / "tiny-512")
    (tmp_path / "tuned.jsonl").write_bytes(record.read_bytes())
    example = MODEL.parents[2] / "python" / "examples" / "tune_model.py"
    done = subprocess.run([sys.executable, example, "tiny-512", "1k", "--tokens", "60000"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{result}\n" and (tmp_path / "tuned.jsonl").read_bytes() == record.read_bytes()
    assert mrrope.Plan.from_json((tmp_path / "plan.json").read_text()).method == result.plan.method


def test_texts_come_as_texts_or_paths_and_are_never_both_tuned_on_and_judged_by(tmp_path):
    from mrrope.tuning_items import Items

    tokens = measuring.Tokens(tiny_model.tokenizer())
    first, second = "a" * 5000, "bé\ud800" * 2000
    (tmp_path / "second.txt").write_bytes(second.encode("utf-8", "replace") + b"\xff")
    for texts in ([first, second], [first, tmp_path / "second.txt"]):
        items = Items(tokens, texts, ("passkey",), 1, 512, 1024)
        assert len(items.tuning) == 4 and all(set(text[1:]) == set(b"a") for text in items.tuning)
        assert all(97 not in text for text in items.held_out) and len(items.held_out) == 6
        assert all(len(text) == 1024 and text[0] == tiny_model.BOS for text in items.tuning + items.held_out)
    alone = Items(tokens, ["".join(chr(33 + i) * 1024 for i in range(8))], ("passkey",), 1, 512, 1024)
    assert not {t for text in alone.tuning for t in text[2:]} & {t for text in alone.held_out for t in text[2:]}


@pytest.mark.parametrize("problem, said", [
    ({"context": "256"}, "nothing to tune"),
    ({"texts": ["short"]}, "expected texts of at least 1024 tokens"),
    ({"texts": [pathlib.Path("nowhere.txt")]}, "nowhere.txt"),
    ({"tasks": ["nothing"]}, "there is no task"),
    ({"tasks": []}, "at least one task"),
    ({"tasks": ["qa_1"]}, "questions"),
    ({"prefer": "wide"}, "prefer"),
])
def test_a_wrong_word_is_an_error_that_leaves_the_model_alone(tiny, problem, said):
    options = {"context": "1k", **problem}
    with pytest.raises(mrrope.Error, match=said):
        mrrope.tune(tiny, tiny_model.tokenizer(), **options)
    assert "_mrrope_patch" not in vars(tiny)


def test_what_is_no_list_of_texts_or_no_model_is_a_type_error(tiny):
    with pytest.raises(TypeError):
        mrrope.tune(tiny, tiny_model.tokenizer(), "1k", texts="a novel")
    with pytest.raises(TypeError):
        mrrope.tune(None, tiny_model.tokenizer(), "1k")


def test_a_jsonl_is_texts_one_per_line(tiny, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "one"}\n\n{"text": "two"}\n', encoding="utf-8")
    assert tuning_items.contents_of(tmp_path / "texts.jsonl", 100) == ["one", "two"]
    (tmp_path / "other.jsonl").write_text('{"content": "one"}\n', encoding="utf-8")
    with pytest.raises(mrrope.Error, match='expected a field "text"'):
        mrrope.tune(tiny, tiny_model.tokenizer(), "1k", texts=[tmp_path / "other.jsonl"])


def test_a_patched_model_stays_patched_and_is_refused(tiny):
    with mrrope.patch(tiny, "2k"):
        with pytest.raises(mrrope.Error, match="patched already"):
            tune(tiny)
        assert "_mrrope_patch" in vars(tiny)


def test_logits_that_are_no_numbers_are_an_error():
    model = tiny_model.model(MODEL)
    with torch.no_grad():
        model.model.norm.weight.fill_(math.nan)
    with pytest.raises(mrrope.Error, match="not numbers"):
        tune(model)

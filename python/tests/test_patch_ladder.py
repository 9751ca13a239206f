# SPDX-License-Identifier: MIT
"""mrrope.patch with a ladder, on real models of transformers 4 and 5, against the same model patched with one rung's plan.

    MRROPE_REQUIRE_ENGINES=1 PYTHONPATH=<the wheel, unpacked> $(tools/engine_env transformers5) -m pytest \
        python/tests/test_patch_ladder.py

A rung of a ladder and the same plan alone put the same table into the same module: logits and tokens are equal, not close.
"""
import copy
import io
import threading

import pytest

import mrrope
from test_patch import MAJOR, TINY, TRAINED, config_of, logits, model_of, rotary, tiny_llama, torch, transformers  # noqa: F401

LENGTHS = [TRAINED, 2 * TRAINED, 4 * TRAINED]


def ladder_of(model, **more):
    return mrrope.ladder(model.config, LENGTHS, **more)


def prompt_of(length, rows=1):
    return torch.randint(1, TINY["vocab_size"], (rows, length), generator=torch.Generator().manual_seed(length))


def answered(model, prompt, **how):
    how = {"max_new_tokens": 20, "do_sample": False, "attention_mask": torch.ones_like(prompt), **how}
    with torch.no_grad():
        return model.generate(prompt, **how)


def alone(model, rung, call):
    """What a call gives under one rung of a ladder; the first is the model as it is."""
    if str(rung.plan.method) == "none":
        return call(model)
    with mrrope.patch(model, rung.plan):
        return call(model)


def rung_of(length):
    return next(place for place, most in enumerate(LENGTHS) if length <= most)


# ---- The promise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family, rope_type", [("llama", "default"), ("llama", "dynamic"), ("llama", "yarn"),
                                               ("qwen3", "longrope"), ("gemma3_text", "linear")])
def test_every_text_is_computed_as_under_its_rung_alone(family, rope_type):
    model = model_of(config_of(family, rope_type))
    ladder = ladder_of(model)
    before = repr(model.config)
    borders = [TRAINED - 21, TRAINED - 20, TRAINED - 19, 2 * TRAINED - 20, 2 * TRAINED - 19, 4 * TRAINED - 20]
    lengths = [2, TRAINED, TRAINED + 1, 2 * TRAINED, 2 * TRAINED + 1, 4 * TRAINED]
    # Far first, and back: nothing of a rung may stay for the next text
    read = {n: alone(model, ladder.rungs[rung_of(n)], lambda m, n=n: logits(m, n)) for n in lengths}
    said = {n: alone(model, ladder.rungs[rung_of(n + 20)], lambda m, n=n: answered(m, prompt_of(n))) for n in borders}
    plain = logits(model, TRAINED)
    with mrrope.patch(model, ladder) as patched:
        for n in [*reversed(lengths), *lengths]:
            assert torch.equal(logits(model, n), read[n]), n
            assert patched.rung == ladder.rungs[rung_of(n)]
        for n in [*reversed(borders), *borders]:
            assert torch.equal(answered(model, prompt_of(n)), said[n]), n
            assert patched.rung == ladder.rungs[rung_of(n + 20)]
        assert repr(model.config) == before
    assert torch.equal(logits(model, TRAINED), plain)
    assert "generate" not in vars(model) and not model.model._forward_pre_hooks and not model.model._forward_hooks


def test_rungs_differ_so_that_equal_means_something():
    model = tiny_llama()
    ladder = ladder_of(model)
    tables = [alone(model, rung, lambda m: logits(m, 100)) for rung in ladder.rungs]
    assert (tables[0] - tables[1]).abs().max() > 1e-4 and (tables[1] - tables[2]).abs().max() > 1e-4


# ---- What an answer may take ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how, answer", [
    ({"max_new_tokens": 28}, 28), ({"max_new_tokens": 29}, 29), ({"max_length": TRAINED}, 28), ({"max_length": TRAINED + 1}, 29),
    ({"max_new_tokens": 28, "max_length": 400}, 28),
])
def test_the_rung_is_that_of_prompt_and_asked_for_tokens(how, answer):
    model = tiny_llama()
    prompt = prompt_of(100)
    with mrrope.patch(model, ladder_of(model)) as patched:
        with torch.no_grad():
            said = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, **how)
        assert patched.rung.length == (TRAINED if answer <= 28 else 2 * TRAINED)
        assert said.shape[1] <= patched.rung.length and said.shape[1] == 100 + answer


@pytest.mark.parametrize("where", ["argument", "model"])
def test_generation_configs_count(where):
    model = tiny_llama()
    config = transformers.GenerationConfig(max_new_tokens=40, do_sample=False, pad_token_id=0)
    prompt = prompt_of(100)
    with mrrope.patch(model, ladder_of(model)) as patched, torch.no_grad():
        if where == "model":
            model.generation_config = config
            said = model.generate(input_ids=prompt)
        else:
            said = model.generate(prompt, config)
        assert patched.rung.length == 2 * TRAINED and said.shape[1] == 140


def test_an_answer_without_a_limit_gets_the_reserve():
    """transformers would add 20 tokens, and none beyond the trained length."""
    model = tiny_llama()
    with mrrope.patch(model, ladder_of(model, reserve=30)) as patched, torch.no_grad():
        assert model.generate(prompt_of(98), do_sample=False).shape[1] == 128 and patched.rung.length == TRAINED
        assert model.generate(prompt_of(99), do_sample=False).shape[1] == 129 and patched.rung.length == 2 * TRAINED
        assert model.generate(prompt_of(500), do_sample=False).shape[1] == 512, "on the last rung what is left"
        with pytest.raises(ValueError, match="fit no rung"):
            model.generate(prompt_of(512), do_sample=False)


def test_the_longest_row_of_a_padded_batch_decides_and_padding_does_not_count():
    model = tiny_llama()
    ladder = ladder_of(model)
    batch = prompt_of(150, rows=2)
    mask = torch.ones_like(batch)
    mask[:, :42] = 0  # 108 tokens each, on the left nothing
    mask[1, :100] = 0
    batch = batch * mask
    wanted = answered(model, batch, attention_mask=mask)
    with mrrope.patch(model, ladder) as patched:
        assert torch.equal(answered(model, batch, attention_mask=mask), wanted)
        assert patched.rung.length == TRAINED
        mask[0, 41] = 1
        answered(model, batch, attention_mask=mask)
        assert patched.rung.length == 2 * TRAINED


def test_embeddings_in_the_place_of_tokens_count_as_tokens():
    model = tiny_llama()
    prompt = prompt_of(120)
    with mrrope.patch(model, ladder_of(model)) as patched, torch.no_grad():
        wanted = answered(model, prompt)
        said = model.generate(inputs_embeds=model.get_input_embeddings()(prompt), max_new_tokens=20, do_sample=False,
                              attention_mask=torch.ones_like(prompt))
        assert torch.equal(said[:, -20:], wanted[:, -20:]) and patched.rung.length == 2 * TRAINED


def test_beams_and_streams_run_under_the_rung():
    model = tiny_llama()
    ladder = ladder_of(model)
    prompt = prompt_of(120)
    wanted = alone(model, ladder.rungs[1], lambda m: answered(m, prompt, num_beams=3))

    class Stream:
        def __init__(self):
            self.tokens = []

        def put(self, value):
            self.tokens += value.reshape(-1).tolist()

        def end(self):
            self.tokens.append("end")

    with mrrope.patch(model, ladder):
        assert torch.equal(answered(model, prompt, num_beams=3), wanted)
        stream = Stream()
        said = answered(model, prompt, streamer=stream)
        assert stream.tokens == [*said[0].tolist(), "end"]


# ---- Beyond the last rung ------------------------------------------------------------------------------------------


def test_a_text_beyond_the_last_rung_is_a_value_error_that_says_what_fits():
    model = tiny_llama()
    ladder = ladder_of(model)
    with mrrope.patch(model, ladder):
        with pytest.raises(ValueError, match="prompt of 500 tokens and an answer of up to 20.*512 together") as error:
            answered(model, prompt_of(500))
        assert isinstance(error.value, mrrope.Error) and error.value.code == "too long"
        with pytest.raises(ValueError, match="513 tokens fit no rung"):
            logits(model, 513)
        assert torch.equal(answered(model, prompt_of(492)), alone_again(model, ladder, 492))


def alone_again(model, ladder, length):
    other = copy.deepcopy(model)
    other._mrrope_patch.undo()
    return alone(other, ladder.rungs[-1], lambda m: answered(m, prompt_of(length)))


# ---- Caches --------------------------------------------------------------------------------------------------------


def test_a_conversation_stays_on_the_rung_of_its_keys_and_is_refused_where_it_outgrows_it():
    model = tiny_llama()
    ladder = ladder_of(model)
    text = prompt_of(140)
    with mrrope.patch(model, ladder) as patched, torch.no_grad():
        first = model(text[:, :100], use_cache=True)
        assert patched.rung.length == TRAINED
        second = model(text[:, 100:128], past_key_values=first.past_key_values, use_cache=True)
        whole = model(text[:, :128]).logits[:, 100:]
        assert (second.logits - whole).abs().max() <= 1e-5
        with pytest.raises(ValueError, match="belong to rung 128, which takes 128 tokens, and 129 .* under rung 256"):
            model(text[:, 128:129], past_key_values=second.past_key_values)
        with pytest.raises(ValueError, match="belong to rung 128"):
            answered(model, text, past_key_values=second.past_key_values)
        # computed again, once: right
        again = model(text, use_cache=True)
        assert patched.rung.length == 2 * TRAINED
        # and a short text goes on with the keys of the higher rung under that rung
        model(text[:, :10])
        assert patched.rung.length == TRAINED
        model(text[:, :1], past_key_values=again.past_key_values)
        assert patched.rung.length == 2 * TRAINED


def test_the_cache_of_an_answer_belongs_to_the_rung_that_gave_it():
    model = tiny_llama()
    prompt = prompt_of(120)
    with mrrope.patch(model, ladder_of(model)) as patched:
        said = answered(model, prompt, return_dict_in_generate=True)
        model(prompt[:, :4])
        longer = torch.cat([said.sequences, prompt_of(5)], dim=1)
        more = answered(model, longer, past_key_values=copy.deepcopy(said.past_key_values), attention_mask=torch.ones_like(longer))
        assert patched.rung.length == 2 * TRAINED
        assert torch.equal(more, answered(model, longer))


def test_a_cache_that_was_filled_without_the_ladder_is_refused():
    model = tiny_llama()
    text = prompt_of(50)
    with torch.no_grad():
        before = model(text, use_cache=True).past_key_values
        with mrrope.patch(model, ladder_of(model)):
            with pytest.raises(ValueError, match="belong to no rung of this ladder"):
                model(text[:, :1], past_key_values=before)
            fresh = transformers.DynamicCache()
            model(text, past_key_values=fresh)
            model(text[:, :1], past_key_values=fresh)


# ---- Use -----------------------------------------------------------------------------------------------------------


def test_two_threads_at_once_are_refused_and_the_first_is_right():
    model = tiny_llama()
    prompt = prompt_of(120)
    problems = []

    class Meddler:
        def put(self, value):
            if not problems:
                thread = threading.Thread(target=self.meddle)
                thread.start()
                thread.join()

        def end(self):
            pass

        def meddle(self):
            for call in (lambda: logits(model, 10), lambda: answered(model, prompt_of(10))):
                try:
                    call()
                except mrrope.Error as problem:
                    problems.append(str(problem))

    with mrrope.patch(model, ladder_of(model)):
        wanted = answered(model, prompt)
        assert torch.equal(answered(model, prompt, streamer=Meddler()), wanted)
        assert len(problems) == 2 and all("another thread" in problem for problem in problems)
        logits(model, 10)


def test_copies_and_pickles_climb_by_themselves_and_can_be_undone():
    model = tiny_llama()
    before = logits(model, 40)
    ladder = ladder_of(model)
    patched = mrrope.patch(model, ladder)
    wanted = logits(model, 200)
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(model), torch.load(buffer, weights_only=False)):
        assert torch.equal(logits(other, 40), before)
        assert torch.equal(logits(other, 200), wanted)
        assert torch.equal(answered(other, prompt_of(120)), answered(model, prompt_of(120)))
        other._mrrope_patch.undo()
        assert torch.equal(logits(other, 40), before) and "generate" not in vars(other)
    assert patched.rung.length == 2 * TRAINED
    patched.undo()
    patched.undo()
    assert torch.equal(logits(model, 40), before)


def test_a_model_with_a_ladder_is_patched_and_parts_of_it_are():
    model = tiny_llama()
    with mrrope.patch(model, ladder_of(model)):
        for part in (model, model.model):
            with pytest.raises(mrrope.Error, match="patched already"):
                mrrope.patch(part, "1k")
    with mrrope.patch(model.model, ladder_of(model)) as patched:
        logits(model, 200)
        assert patched.rung.length == 2 * TRAINED


def test_an_error_inside_leaves_the_model_usable():
    model = tiny_llama()

    class Broken:
        def put(self, value):
            raise RuntimeError("closed")

        def end(self):
            pass

    with mrrope.patch(model, ladder_of(model)) as patched:
        with pytest.raises(RuntimeError, match="closed"):
            answered(model, prompt_of(120), streamer=Broken())
        with pytest.raises(IndexError):
            model(torch.tensor([[TINY["vocab_size"]]]))
        other = threading.Thread(target=lambda: logits(model, 200))  # nobody computes any more
        other.start()
        other.join()
        assert patched.rung.length == 2 * TRAINED
        logits(model, 10)
        assert patched.rung.length == TRAINED
    assert rotary(model).rope_type == "default" and "inv_freq" in rotary(model)._buffers


def test_a_ladder_for_another_model_and_a_table_per_length_are_refused():
    model = tiny_llama()
    before = logits(model, 40)
    other = mrrope.Spec(dim=128, base=10000, context=TRAINED)
    for ladder in (mrrope.ladder(other, LENGTHS), mrrope.ladder(model.config, LENGTHS, "dynamic-ntk")):
        with pytest.raises(mrrope.Error):
            mrrope.patch(model, ladder)
    assert torch.equal(logits(model, 40), before) and "generate" not in vars(model)
    assert not model.model._forward_pre_hooks

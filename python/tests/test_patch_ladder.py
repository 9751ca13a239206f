# SPDX-License-Identifier: MIT
"""mrrope.patch with a ladder, on real models of transformers 4 and 5.

    MRROPE_REQUIRE_ENGINES=1 PYTHONPATH=<the wheel, unpacked> $(tools/engine_env transformers5) -m pytest \
        python/tests/test_patch_ladder.py

A pass without a cache is that of the rung's plan alone: logits are equal, not close. In a model of one layer a cache that
climbs is that of reading anew under the last rung, within the rounding of float32; and llama.cpp gives the same text the
same probabilities.
"""
import copy
import io
import json
import os
import pathlib
import subprocess
import threading

import pytest

import mrrope
from test_patch import FAMILIES, MAJOR, TINY, TRAINED, config_of, logits, model_of, rotary, tiny_llama, torch, transformers  # noqa: F401

LENGTHS = [TRAINED, 2 * TRAINED, 4 * TRAINED]
ROOT = pathlib.Path(__file__).parents[2]


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


def in_pieces(model, text, piece, cache=None, **how):
    """Logits of a text that is read a few tokens at a time."""
    rows = []
    cache = transformers.DynamicCache() if cache is None else cache
    with torch.no_grad():
        for at in range(0, text.shape[1], piece):
            rows.append(model(text[:, at:at + piece], past_key_values=cache, use_cache=True, **how).logits)
    return torch.cat(rows, dim=1)


# ---- The promise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family, rope_type", [("llama", "default"), ("llama", "dynamic"), ("llama", "yarn"),
                                               ("qwen3", "longrope"), ("gemma3_text", "linear")])
def test_every_pass_is_computed_as_under_its_rung_alone(family, rope_type):
    model = model_of(config_of(family, rope_type))
    ladder = ladder_of(model)
    before = repr(model.config)
    lengths = [2, TRAINED, TRAINED + 1, 2 * TRAINED, 2 * TRAINED + 1, 4 * TRAINED, 4 * TRAINED + 3]
    # Far first, and back: nothing of a rung may stay for the next text
    read = {n: alone(model, ladder.rungs[min(rung_of(min(n, 512)), 2)], lambda m, n=n: logits(m, n)) for n in lengths}
    plain = logits(model, TRAINED)
    with mrrope.patch(model, ladder) as patched:
        for n in [*reversed(lengths), *lengths]:
            assert torch.equal(logits(model, n), read[n]), n
            assert patched.rung == ladder.rungs[rung_of(min(n, 512))]
        assert repr(model.config) == before
    assert torch.equal(logits(model, TRAINED), plain)
    assert "forward" not in vars(model.model)


def one_layer(name, **keys):
    """One layer that a plan changes; pairs that are halves apart, or neighbours, or at the end of a head."""
    config = transformers.AutoConfig.for_model(
        name, **{**TINY, "num_hidden_layers": 1, "max_position_embeddings": TRAINED, **keys})
    return model_of(config)


ONE_LAYER = {
    "llama": {}, "qwen3": {}, "cohere": {}, "phi": {"partial_rotary_factor": 0.5}, "glm": {"partial_rotary_factor": 0.5},
    "gemma3_text": dict(FAMILIES["gemma3_text"], num_hidden_layers=2),
}
REFUSED = {"hunyuan_v1_dense": {}}  # keys that are normalised after their rotation
# transformers 4 keeps its keys, the rotated part last; 5 keeps what they are made of.
(ONE_LAYER if MAJOR < 5 else REFUSED)["deepseek_v3"] = {
    "q_lora_rank": 32, "kv_lora_rank": 32, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}


@pytest.mark.parametrize("name", ONE_LAYER)
def test_a_cache_that_climbs_is_that_of_reading_anew_where_one_layer_is_extended(name):
    model = one_layer(name, **ONE_LAYER[name])
    ladder = ladder_of(model)
    text = prompt_of(300)
    anew = {place: alone(model, ladder.rungs[place], lambda m: in_pieces(m, text, 32)) for place in (0, 1, 2)}
    with mrrope.patch(model, ladder) as patched:
        climbed = in_pieces(model, text, 32)
        assert patched.rung.length == 4 * TRAINED
    for place, (first, last) in enumerate([(0, 128), (128, 256), (256, 300)]):
        # Angles of 300 radians, rounded to 2^-24 of them in each of three steps
        assert (climbed[:, first:last] - anew[place][:, first:last]).abs().max() <= 300 * 3 / 2**24, place
    assert torch.equal(climbed[:, :128], anew[0][:, :128])
    assert (anew[1][:, 256:] - anew[2][:, 256:]).abs().max() > 3 * 300 * 3 / 2**24, "the oracle sees no turn"


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_whose_keys_cannot_be_turned_is_refused(name):
    model = one_layer(name, **REFUSED[name])
    if name == "hunyuan_v1_dense":
        with torch.no_grad():
            model.model.layers[0].self_attn.key_layernorm.weight.copy_(torch.linspace(0.5, 2, 64))
    before = logits(model, 40)
    with pytest.raises(mrrope.Error, match="cannot climb") as error:
        mrrope.patch(model, ladder_of(model))
    assert error.value.code == "unsupported"
    assert torch.equal(logits(model, 40), before) and "forward" not in vars(model.model)


def test_llama_cpp_gives_a_text_that_climbs_the_same_probabilities(tmp_path):
    program = os.environ.get("MRROPE_BIN")
    if not program:
        pytest.skip("MRROPE_BIN names no mrrope with llama.cpp")
    tiny_model = pytest.importorskip("tiny_model", reason="no gguf in this python")
    source = ROOT / "tests/models/tiny-512.gguf"
    tiny_model.write_float32(str(source), str(tmp_path / "model.gguf"))
    (tmp_path / "text.md").write_text((ROOT / "docs/theory.md").read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([program, "eval", "ppl", "-m", tmp_path / "model.gguf", "-f", tmp_path / "text.md", "--methods",
                    "climb:ratio=2:mrrope-pro", "--factor", "4", "--lengths", "2k", "-o", tmp_path / "run",
                    "--cache-type-k", "f32", "--cache-type-v", "f32", "--flash-attn", "off"], check=True)
    record = json.loads((tmp_path / "run/records.jsonl").read_text(encoding="utf-8"))
    model = tiny_model.model(str(source))
    ids = torch.tensor([tiny_model.tokenizer()((tmp_path / "text.md").read_text(encoding="utf-8"))["input_ids"][:2048]])
    with mrrope.patch(model, mrrope.ladder(model.config, [512, 1024, 2048], "mrrope-pro")):
        rows = in_pieces(model, ids, 256).double().log_softmax(-1)
    nll = -rows[0, :-1].gather(-1, ids[0, 1:, None])[:, 0]
    ours = [float(nll[max(0, at - 1):at + 255].sum()) for at in range(0, 2048, 256)]
    assert len(record["bucket_nll"]) == 8
    for mine, theirs in zip(ours, record["bucket_nll"]):
        assert abs(mine - theirs) / 256 <= 1e-4


def test_rungs_differ_so_that_equal_means_something():
    model = tiny_llama()
    ladder = ladder_of(model)
    tables = [alone(model, rung, lambda m: logits(m, 100)) for rung in ladder.rungs]
    assert (tables[0] - tables[1]).abs().max() > 1e-4 and (tables[1] - tables[2]).abs().max() > 1e-4


# ---- generate() ----------------------------------------------------------------------------------------------------


def test_an_answer_goes_on_beyond_its_rung():
    model = tiny_llama()
    prompt = prompt_of(100)
    with mrrope.patch(model, ladder_of(model)) as patched:
        said = answered(model, prompt, max_new_tokens=200)
        assert patched.rung.length == 4 * TRAINED and said.shape[1] == 300
        # The same by hand: one pass a token, greedily
        cache, text = transformers.DynamicCache(), prompt
        with torch.no_grad():
            row = model(text, past_key_values=cache).logits[:, -1]
            while text.shape[1] < 300:
                text = torch.cat([text, row.argmax(-1, keepdim=True)], dim=1)
                row = model(text[:, -1:], past_key_values=cache).logits[:, -1]
        assert torch.equal(said, text)


def test_a_prompt_that_is_read_in_chunks_climbs_within_itself():
    model = one_layer("llama")
    ladder = ladder_of(model)
    prompt = prompt_of(300)
    wanted = alone(model, ladder.rungs[2], lambda m: answered(m, prompt))
    with mrrope.patch(model, ladder):
        assert torch.equal(answered(model, prompt, prefill_chunk_size=64), wanted)


def test_rows_of_a_padded_batch_turn_by_their_own_positions():
    model = one_layer("llama")
    ladder = ladder_of(model)
    texts = [prompt_of(n)[0] for n in (90, 120)]
    batch = torch.zeros(2, 120, dtype=torch.long)
    mask = torch.zeros_like(batch)
    for row, text in enumerate(texts):
        batch[row, 120 - len(text):], mask[row, 120 - len(text):] = text, 1
    wanted = alone(model, ladder.rungs[1], lambda m: answered(m, batch, attention_mask=mask, max_new_tokens=40))
    with mrrope.patch(model, ladder) as patched:
        said = answered(model, batch, attention_mask=mask, max_new_tokens=40)
        assert patched.rung.length == 2 * TRAINED
    # Under the lower rung first: the same within rounding, so the same words of a model that is sure enough of them
    assert (said == wanted)[:, 130:].float().mean() > 0.5
    with mrrope.patch(model, ladder):
        cache = transformers.DynamicCache()
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        with torch.no_grad():
            model(batch, attention_mask=mask, position_ids=positions, past_key_values=cache)
            longer = torch.cat([mask, torch.ones(2, 30, dtype=torch.long)], dim=1)
            more = (longer.cumsum(-1) - 1)[:, 120:]
            climbed = model(prompt_of(30, rows=2), attention_mask=longer, position_ids=more, past_key_values=cache).logits

    def anew(m):
        fresh = transformers.DynamicCache()
        with torch.no_grad():
            m(batch, attention_mask=mask, position_ids=positions, past_key_values=fresh)
            return m(prompt_of(30, rows=2), attention_mask=longer, position_ids=more, past_key_values=fresh).logits

    assert (climbed - alone(model, ladder.rungs[1], anew)).abs().max() <= 150 * 3 / 2**24


def test_embeddings_in_the_place_of_tokens_count_as_tokens():
    model = tiny_llama()
    prompt = prompt_of(120)
    with mrrope.patch(model, ladder_of(model)) as patched, torch.no_grad():
        wanted = answered(model, prompt)
        said = model.generate(inputs_embeds=model.get_input_embeddings()(prompt), max_new_tokens=20, do_sample=False,
                              attention_mask=torch.ones_like(prompt))
        assert torch.equal(said[:, -20:], wanted[:, -20:]) and patched.rung.length == 2 * TRAINED


def test_beams_climb():
    model = one_layer("llama")
    ladder = ladder_of(model)
    prompt = prompt_of(140)
    wanted = alone(model, ladder.rungs[1], lambda m: answered(m, prompt, num_beams=3))
    with mrrope.patch(model, ladder):
        assert torch.equal(answered(model, prompt, num_beams=3), wanted)
        assert answered(model, prompt_of(120), num_beams=3).shape[1] == 140


# ---- Caches --------------------------------------------------------------------------------------------------------


def test_a_cache_goes_down_again_when_it_is_cut_back():
    model = one_layer("llama")
    text = prompt_of(300)
    with mrrope.patch(model, ladder_of(model)) as patched, torch.no_grad():
        cache = transformers.DynamicCache()
        in_pieces(model, text, 50, cache)
        cache.crop(100 - 300)  # so many fewer: transformers 5 takes no length
        again = model(text[:, 100:128], past_key_values=cache).logits
        assert patched.rung.length == TRAINED
        wanted = model(text[:, :128]).logits[:, 100:]
        assert (again - wanted).abs().max() <= 300 * 3 / 2**24


def test_a_cache_of_one_length_climbs_too():
    model = one_layer("llama")
    ladder = ladder_of(model)
    text = prompt_of(300)
    with mrrope.patch(model, ladder):
        wanted = in_pieces(model, text, 32)
        cache = transformers.StaticCache(config=model.config, max_cache_len=320)
        assert (in_pieces(model, text, 32, cache) - wanted).abs().max() <= 1e-5


def test_two_conversations_have_a_rung_each():
    model = one_layer("llama")
    ladder = ladder_of(model)
    text = prompt_of(300)
    with mrrope.patch(model, ladder) as patched, torch.no_grad():
        long, short = transformers.DynamicCache(), transformers.DynamicCache()
        wanted = in_pieces(model, text, 50)
        first = in_pieces(model, text[:, :250], 50, long)
        model(text[:, :50], past_key_values=short)
        assert patched.rung.length == TRAINED
        last = model(text[:, 250:], past_key_values=long).logits
        assert patched.rung.length == 4 * TRAINED
        assert torch.equal(model(text[:, 50:100], past_key_values=short).logits, wanted[:, 50:100])
        assert torch.equal(torch.cat([first, last], dim=1), wanted)


def test_a_cache_of_an_answer_is_copied_with_its_rung():
    model = tiny_llama()
    prompt = prompt_of(120)
    with mrrope.patch(model, ladder_of(model)) as patched:
        said = answered(model, prompt, return_dict_in_generate=True)
        model(prompt[:, :4])
        longer = torch.cat([said.sequences, prompt_of(5)], dim=1)
        twice = [answered(model, longer, past_key_values=copy.deepcopy(said.past_key_values),
                          attention_mask=torch.ones_like(longer)) for _ in range(2)]
        assert patched.rung.length == 2 * TRAINED
        assert torch.equal(*twice)


def test_caches_that_cannot_be_turned_are_refused_by_name():
    model = tiny_llama()
    text = prompt_of(50)
    with torch.no_grad():
        before = model(text, use_cache=True).past_key_values
        with mrrope.patch(model, ladder_of(model)):
            with pytest.raises(mrrope.Error, match="not all rotated by this ladder"):
                model(text[:, :1], past_key_values=before)
            fresh = transformers.DynamicCache()
            model(text, past_key_values=fresh)
            model(text[:, :1], past_key_values=fresh)

            class StrangeLayer(type(fresh.layers[0])):
                pass

            strange = transformers.DynamicCache()
            model(text, past_key_values=strange)
            for layer in strange.layers:
                layer.__class__ = StrangeLayer
            with pytest.raises(mrrope.Error, match="StrangeLayer"):
                model(prompt_of(100), past_key_values=strange)
            model(text[:, :1], past_key_values=fresh)


def test_a_turn_that_fails_half_way_leaves_a_cache_that_is_refused():
    model = tiny_llama()
    text = prompt_of(140)
    with mrrope.patch(model, ladder_of(model)) as patched, torch.no_grad():
        wanted = model(text).logits
        cache = transformers.DynamicCache()
        model(text[:, :120], past_key_values=cache)
        turn, calls = patched._layout.turn, []

        def fails(*args):
            calls.append(args)
            if len(calls) == 2:
                raise MemoryError("at the second layer")
            turn(*args)

        patched._layout.turn = fails
        with pytest.raises(MemoryError):
            model(text[:, 120:], past_key_values=cache)
        patched._layout.turn = turn
        with pytest.raises(mrrope.Error, match="not all rotated"):
            model(text[:, 120:], past_key_values=cache)
        assert torch.equal(model(text).logits, wanted)


def test_a_cache_that_went_on_without_the_patch_is_refused():
    model = tiny_llama()
    text = prompt_of(100)
    cache = transformers.DynamicCache()
    with torch.no_grad():
        with mrrope.patch(model, ladder_of(model)):
            model(text[:, :50], past_key_values=cache)
        model(text[:, 50:60], past_key_values=cache)
        with mrrope.patch(model, ladder_of(model)):
            with pytest.raises(mrrope.Error, match="not all rotated"):
                model(text[:, 60:], past_key_values=cache)


def test_patching_leaves_modules_in_the_mode_they_were_in():
    model = tiny_llama().train()
    model.model.layers[0].eval()
    modes = [part.training for part in model.modules()]
    with mrrope.patch(model, ladder_of(model)):
        assert [part.training for part in model.modules()] == modes


@pytest.mark.parametrize("rungs", [("none", "mrrope-pro", "none"), ("yarn", "none", "mrrope-pro")])
def test_rungs_may_come_in_any_order(rungs):
    model = one_layer("llama")
    plans = {length: mrrope.plan(model.config, 4 * TRAINED, method) for length, method in zip(LENGTHS, rungs)}
    document = json.loads(ladder_of(model).to_json())
    for rung, plan in zip(document["rungs"], plans.values()):
        rung["plan"] = json.loads(plan.to_json())
    ladder = mrrope.Ladder.from_json(json.dumps(document))
    text = prompt_of(300)
    with mrrope.patch(model, ladder):
        climbed = in_pieces(model, text, 32)
    for place, (first, last) in enumerate([(0, 128), (128, 256), (256, 300)]):
        anew = alone(model, ladder.rungs[place], lambda m: in_pieces(m, text, 32))
        assert (climbed[:, first:last] - anew[:, first:last]).abs().max() <= 300 * 3 / 2**24, place


@pytest.mark.parametrize("method", ["linear", "ntk", "yarn", "mrrope-pro", "mrrope-uni"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_every_method_and_dtype_can_climb(method, dtype):
    model = tiny_llama().to(getattr(torch, dtype))
    with mrrope.patch(model, mrrope.ladder(model.config, LENGTHS, method)) as patched:
        assert (patched._layout.halves, patched._layout.last) == (True, False)
        assert in_pieces(model, prompt_of(200), 50).isfinite().all()


def test_a_pass_that_is_interrupted_lets_others_compute():
    model = tiny_llama()

    def interrupt(*_):
        raise KeyboardInterrupt

    with mrrope.patch(model, ladder_of(model)):
        wanted = logits(model, 200)
        hook = model.model.layers[0].register_forward_hook(interrupt)
        with pytest.raises(KeyboardInterrupt):
            logits(model, 200)
        hook.remove()
        said = []
        other = threading.Thread(target=lambda: said.append(logits(model, 200)))
        other.start()
        other.join(30)
        assert torch.equal(said[0], wanted)


# ---- Use -----------------------------------------------------------------------------------------------------------


def test_threads_take_turns_and_each_text_has_its_own_rung():
    model = tiny_llama()
    prompts = [prompt_of(n) for n in (20, 120, 250)]
    with mrrope.patch(model, ladder_of(model)):
        wanted = [answered(model, prompt, max_new_tokens=60) for prompt in prompts]
        said = [None] * 3

        def run(index):
            said[index] = answered(model, prompts[index], max_new_tokens=60)

        threads = [threading.Thread(target=run, args=(index,)) for index in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(torch.equal(a, b) for a, b in zip(said, wanted))


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
        assert torch.equal(logits(other, 40), before)
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
    assert torch.equal(logits(model, 40), before)
    assert "forward" not in vars(model.model)

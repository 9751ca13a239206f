# SPDX-License-Identifier: MIT
"""mrrope.patch on real models of transformers 4 and 5, against the same plan written into their config.

    MRROPE_REQUIRE_ENGINES=1 PYTHONPATH=<the wheel, unpacked> $(tools/engine_env transformers5) -m pytest python/tests/test_patch.py

Every combination of family and loaded rope type is built twice with the same weights, as transformers initialises them:
from its own config and patched, and from the config.json that mrrope.extend writes. Logits below and beyond the trained
length must agree within 1e-5; without the plan they are off by a hundred times as much, which is asserted too. They are
not equal, because transformers computes its table in float32, with three roundings where a patch has one: an angle of
position m differs by up to 2e-7 m. Weights three times as large show it: Qwen3 at 384 tokens is then 2.3e-5 apart.
"""
import argparse
import copy
import io
import os

import pytest

import mrrope

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError as problem:
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(f"transformers is not usable in this python ({problem}); see tools/engine_env", pytrace=False)
    pytest.skip(f"no transformers in this python ({problem}); see tools/engine_env", allow_module_level=True)

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)  # models this small only lose by more
MAJOR = int(transformers.__version__.split(".", maxsplit=1)[0])
TINY = {"vocab_size": 96, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 64, "eos_token_id": None, "pad_token_id": 0}
FAMILIES = {
    "llama": TINY,
    "qwen3": TINY,
    # 32 tokens: longer texts leave the window
    "gemma3_text": dict(TINY, sliding_window=32, layer_types=["sliding_attention", "full_attention"],
                        query_pre_attn_scalar=64),
}
# Lists that are neither smooth nor monotone, as LongRoPE's search leaves them.
LONG = [1 + 3 * (i / 32) ** 2 + 0.25 * (i * 5 % 7) for i in range(32)]
SHORT = [1 + 0.03 * (i * 3 % 5) for i in range(32)]
TYPES = {  # rope parameters, the length before the scaling (None: there is none to say)
    "default": ({}, None),
    "linear": ({"factor": 2.0}, None),
    "dynamic": ({"factor": 2.0}, None),
    "yarn": ({"factor": 4.0}, 32),
    "longrope": ({"factor": 4.0, "short_factor": SHORT, "long_factor": LONG}, 32),
    "llama3": ({"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}, 32),
}
TRAINED = 128


def config_of(family, rope_type):
    """The config a released model of this type would have, in the spelling of this version."""
    keys, original = TYPES[rope_type]
    rope = {"rope_type": rope_type, **keys}
    config = dict(FAMILIES[family], max_position_embeddings=TRAINED)
    if original is not None:
        rope["original_max_position_embeddings"] = original
        if rope_type == "longrope":
            config["original_max_position_embeddings"] = original  # 4 reads no other place
    if MAJOR < 5:
        config["rope_theta"] = 10000.0
        config["rope_scaling"] = None if rope_type == "default" else rope
    elif family == "gemma3_text":
        local = {"rope_type": "default", "rope_theta": 10000.0}
        config["rope_parameters"] = {"full_attention": dict(rope, rope_theta=10000.0), "sliding_attention": local}
    else:
        config["rope_parameters"] = dict(rope, rope_theta=10000.0)
    return AutoConfig.for_model(family, **config)


def model_of(config, seed=1):
    torch.manual_seed(seed)
    return AutoModelForCausalLM.from_config(config).eval()


def logits(model, length):
    ids = torch.randint(0, TINY["vocab_size"], (1, length), generator=torch.Generator().manual_seed(length))
    with torch.no_grad():
        return model(ids).logits


def written(text):
    generated = torch.tensor([[7, 3, 5, 11] * 25])
    with torch.no_grad():
        return text.generate(generated, max_new_tokens=60, do_sample=False, attention_mask=torch.ones_like(generated))


def tiny_llama(rope_type="default"):
    return model_of(config_of("llama", rope_type))


def rotary(model):
    return model.model.rotary_emb


# ---- The promise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rope_type", TYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_patched_model_is_the_model_of_the_extended_config(family, rope_type, tmp_path):
    config = config_of(family, rope_type)
    config.save_pretrained(tmp_path)
    plan = mrrope.plan(config, 4 * TRAINED, "mrrope-pro")
    model = model_of(config)
    unpatched = logits(model, 3 * TRAINED)
    mrrope.extend(tmp_path, plan=plan)
    reference = model_of(AutoConfig.from_pretrained(tmp_path))
    reference.load_state_dict(model.state_dict())

    done = mrrope.patch(model, plan)

    assert len(done.modules) == 1
    for length in (3 * TRAINED, 30, TRAINED, 3 * TRAINED):  # far first: types that switch must not switch back
        assert (logits(model, length) - logits(reference, length)).abs().max() <= 1e-5, length
    assert torch.equal(written(model), written(reference))  # 100 tokens of prompt, 60 more
    assert (unpatched - logits(model, 3 * TRAINED)).abs().max() > 1e-3

    done.undo()
    assert torch.equal(logits(model, 3 * TRAINED), unpatched)


def test_there_are_18_combinations_for_each_version():
    assert len(FAMILIES) * len(TYPES) == 18


# Models that see pictures: three positions per token, which are the same for text.
VISION = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 128}
SECTIONED = {
    "qwen2_5_vl": ({}, {"window_size": 112, "fullatt_block_indexes": [0]}, {"mrope_section": [8, 12, 12]}),
    "qwen3_vl": ({}, {"deepstack_visual_indexes": [0], "num_position_embeddings": 16},
                 {"mrope_section": [12, 10, 10], "mrope_interleaved": True}),
    "qwen3_5": ({"head_dim": 256, "linear_num_key_heads": 1, "linear_num_value_heads": 1, "linear_key_head_dim": 16,
                 "linear_value_head_dim": 16, "layer_types": ["linear_attention", "full_attention"]},
                {"num_position_embeddings": 16},
                {"mrope_section": [11, 11, 10], "mrope_interleaved": True, "partial_rotary_factor": 0.25}),
}


@pytest.mark.parametrize("family", [name for name in SECTIONED if MAJOR >= 5 or name != "qwen3_5"])
def test_text_of_a_model_that_sees_pictures_turns_by_the_plan(family, tmp_path):
    text, vision, sections = SECTIONED[family]
    text = {**TINY, "max_position_embeddings": TRAINED, **text}
    rope = {"rope_type": "default", **sections}
    text |= {"rope_parameters": {**rope, "rope_theta": 1e4}} if MAJOR >= 5 else {"rope_theta": 1e4, "rope_scaling": rope}
    config = AutoConfig.for_model(family, text_config=text, vision_config={**VISION, **vision})

    def built(config):
        torch.manual_seed(1)
        return transformers.AutoModelForImageTextToText.from_config(config).eval()

    model = built(config)
    config.save_pretrained(tmp_path)
    unpatched = logits(model, 3 * TRAINED)
    plan = mrrope.plan(config, 4 * TRAINED, "mrrope-pro")
    mrrope.extend(tmp_path, plan=plan)
    reference = built(AutoConfig.from_pretrained(tmp_path))
    reference.load_state_dict(model.state_dict())

    with mrrope.patch(model, plan) as done:
        assert done.modules and all("language_model" in name for name in done.modules), "not those of the pictures"
        for length in (3 * TRAINED, 30):
            assert (logits(model, length) - logits(reference, length)).abs().max() <= 1e-5, length
        assert (unpatched - logits(model, 3 * TRAINED)).abs().max() > 1e-4
    assert torch.equal(logits(model, 3 * TRAINED), unpatched)


# ---- Use -----------------------------------------------------------------------------------------------------------


def test_a_length_is_enough_and_a_block_undoes():
    model = tiny_llama()
    before = logits(model, 40)
    with mrrope.patch(model, "1k") as done:
        assert done.plan.context == 1024
        assert not torch.equal(logits(model, 40), before)
        with pytest.raises(mrrope.Error, match="patched already"):
            mrrope.patch(model, "2k")
    assert torch.equal(logits(model, 40), before)
    mrrope.patch(model, "2k").undo()
    done.undo()  # a second time: nothing
    assert torch.equal(logits(model, 40), before)


def loaded(folder):
    return AutoModelForCausalLM.from_pretrained(folder).eval()


def test_a_model_that_is_saved_while_patched_keeps_its_plan(tmp_path):
    """Weights trained under a plan were saved with the config of before: whoever loaded them got another table."""
    model = tiny_llama()
    plan = mrrope.plan(model.config, "2k")
    wanted = repr(plan)
    done = mrrope.patch(model, plan)
    model.save_pretrained(tmp_path)
    again = loaded(tmp_path)
    assert again.config.max_position_embeddings == 2048
    for length in (40, 3 * TRAINED):
        assert (logits(again, length) - logits(model, length)).abs().max() <= 1e-5, length
    assert mrrope.diff(tmp_path, plan)[0].table < 1e-6

    mrrope.undo(tmp_path)
    assert repr(mrrope.plan(tmp_path, "2k")) == wanted
    done.undo()
    assert torch.equal(logits(loaded(tmp_path), 3 * TRAINED), logits(model, 3 * TRAINED))


def test_checkpoints_of_one_name_are_each_the_last_one(tmp_path):
    model = tiny_llama()
    with mrrope.patch(model, "2k"):
        model.save_pretrained(tmp_path)
        model.config.pad_token_id = 1  # another config than that of the first time
        with torch.no_grad():
            model.lm_head.weight *= 1.5
        model.save_pretrained(tmp_path)
        again = loaded(tmp_path)
        assert again.config.pad_token_id == 1 and again.config.max_position_embeddings == 2048
        assert (logits(again, 3 * TRAINED) - logits(model, 3 * TRAINED)).abs().max() <= 1e-5


def test_of_several_processes_one_writes_the_config(tmp_path):
    """The others took the plan out of the config that the first one had just written."""
    model = tiny_llama()
    mrrope.patch(model, "2k")
    model.save_pretrained(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.glob("config*.json")}
    model.save_pretrained(tmp_path, is_main_process=False)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("config*.json")} == written


def test_after_undo_a_model_is_saved_as_it_was(tmp_path):
    model = tiny_llama()
    model.save_pretrained(tmp_path / "before")
    mrrope.patch(model, "2k").undo()
    model.save_pretrained(tmp_path / "after")
    configs = [(tmp_path / name / "config.json").read_text() for name in ("before", "after")]
    assert configs[0] == configs[1] and "save_pretrained" not in vars(model)


def test_what_would_be_uploaded_without_its_plan_is_refused(tmp_path):
    model = tiny_llama()
    mrrope.patch(model, "2k")
    with pytest.raises(mrrope.Error, match="save first"):
        model.save_pretrained(tmp_path, push_to_hub=True)
    assert not list(tmp_path.iterdir())


def test_a_copy_of_a_patched_model_saves_itself(tmp_path):
    model = tiny_llama()
    mrrope.patch(model, "2k")
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.lm_head.weight *= 2
    other.save_pretrained(tmp_path)
    assert (logits(loaded(tmp_path), 40) - logits(other, 40)).abs().max() <= 1e-5


@pytest.mark.parametrize("first, second", [("inner", "outer"), ("outer", "inner")])
def test_a_part_of_a_patched_model_and_the_whole_of_a_patched_part_are_patched(first, second):
    """The second found the length reached, and put the model's own table over the extended one."""
    outer = tiny_llama()
    models = {"outer": outer, "inner": outer.model}
    done = mrrope.patch(models[first], "2k")
    wanted = logits(outer, 40)
    with pytest.raises(mrrope.Error, match="patched already"):
        mrrope.patch(models[second], "2k")
    assert torch.equal(logits(outer, 40), wanted)
    done.undo()
    mrrope.patch(models[second], "2k")
    assert torch.equal(logits(outer, 40), wanted)


def test_an_error_inside_a_block_undoes_too():
    model = tiny_llama("dynamic")
    with pytest.raises(RuntimeError):
        with mrrope.patch(model, "1k"):
            raise RuntimeError("out of memory")
    assert rotary(model).rope_type == "dynamic" and "inv_freq" in rotary(model)._buffers


@pytest.mark.parametrize("order", ["dtype first", "patch first"])
def test_half_precision_does_not_round_the_table(order):
    model = tiny_llama()
    plan = mrrope.plan(model.config, "1k")
    if order == "dtype first":
        model.to(torch.bfloat16)
    mrrope.patch(model, plan)
    model.to(torch.bfloat16)
    table = rotary(model).inv_freq.double().numpy()
    assert rotary(model).inv_freq.dtype == torch.float32
    assert abs(table / plan.inv_freq - 1).max() <= 2**-24
    assert logits(model, 40).dtype == torch.bfloat16


def test_default_dtype_and_device_of_torch_do_not_matter():
    """The check of the angles asked in the default dtype, and compared on the default device: good models failed it."""
    model = tiny_llama()
    plan = mrrope.plan(model.config, "1k")
    torch.set_default_dtype(torch.bfloat16)
    try:
        mrrope.patch(model, plan).undo()
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        mrrope.patch(model, plan)
    assert rotary(model).inv_freq.dtype == torch.float32 and rotary(model).inv_freq.device.type == "cpu"


# A record said what had been planned, whatever the model did.
@pytest.mark.parametrize("family", FAMILIES)
def test_a_campaign_records_the_table_that_the_model_rotated_with(family):
    from mrrope.campaign import in_transformers

    model = model_of(config_of(family, "default"))
    one = object.__new__(in_transformers._Measured)
    one._asked = argparse.Namespace(lengths=[8])
    one._plan = mrrope.plan(model.config, 4 * TRAINED, "mrrope-pro")
    own = [10000 ** (-pair / 32) for pair in range(32)]
    reaching = min(one._plan.groups, key=lambda group: group.inv_freq[-1])
    for wanted, scale in ((own, 1), (reaching.inv_freq.tolist(), reaching.attention_scale)):
        found = one._read("text", [3, 1, 4, 1, 5, 9, 2, 6], model)
        assert found["inv_freq"] == pytest.approx(wanted, rel=2**-22) and found["attention_scale"] == pytest.approx(scale)
        if wanted == own:
            mrrope.patch(model, one._plan)


def test_copies_and_pickles_of_a_patched_model_stay_patched_and_can_be_undone():
    model = tiny_llama()
    before = logits(model, 40)
    mrrope.patch(model, "1k")
    wanted = logits(model, 40)
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(model), torch.load(buffer, weights_only=False)):
        assert torch.equal(logits(other, 40), wanted)
        other._mrrope_patch.undo()
        assert torch.equal(logits(other, 40), before)
    assert torch.equal(logits(model, 40), wanted)


def test_the_sliding_layers_of_gemma_3_keep_their_table():
    model = model_of(config_of("gemma3_text", "linear"))

    def table():
        return rotary(model).sliding_attention_inv_freq if MAJOR >= 5 else model.model.rotary_emb_local.inv_freq

    before = table().clone()
    mrrope.patch(model, "1k")
    assert torch.equal(table(), before)


@pytest.mark.parametrize("family, more", [
    ("mistral", {}), ("qwen2", {"head_dim": None}), ("gemma2", {"query_pre_attn_scalar": 64}), ("olmo2", {"head_dim": None}),
    ("stablelm", {"partial_rotary_factor": 0.25, "head_dim": None}), ("cohere", {"head_dim": None}), ("phi3", {"head_dim": None}),
    ("gpt_neox", {"head_dim": None, "rotary_pct": 0.25}), ("granite", {"head_dim": None}), ("smollm3", {"head_dim": None}),
])
def test_other_families_are_understood(family, more):
    """Partial rotation, interleaved pairs, other names of fields: the table is there after a forward at both lengths."""
    fields = {key: value for key, value in {**TINY, **more}.items() if value is not None}
    model = model_of(AutoConfig.for_model(family, **fields, max_position_embeddings=TRAINED))
    before = logits(model, 2 * TRAINED)
    plan = mrrope.plan(model.config, 4 * TRAINED)
    with mrrope.patch(model, plan) as done:
        assert done.modules and (logits(model, 2 * TRAINED) - before).abs().max() > 1e-4
        module = model.get_submodule(done.modules[0])
        assert abs(module.inv_freq.double().numpy() / plan.inv_freq - 1).max() <= 2**-24
        assert module.attention_scaling == plan.attention_scale
    assert torch.equal(logits(model, 2 * TRAINED), before)


# ---- Refusals ------------------------------------------------------------------------------------------------------


def untouched(model, before):
    return torch.equal(logits(model, 40), before)


def test_a_plan_for_another_model_is_refused():
    model = tiny_llama()
    before = logits(model, 40)
    for spec in (mrrope.Spec(dim=64, base=5e5, context=TRAINED), mrrope.Spec(dim=128, context=TRAINED),
                 mrrope.Spec(dim=64, context=2 * TRAINED)):
        with pytest.raises(mrrope.Error, match="made for a model with"):
            mrrope.patch(model, mrrope.plan(spec, "1k"))
    with pytest.raises(mrrope.Error, match="table per length"):
        mrrope.patch(model, mrrope.plan(model.config, "1k", "dynamic-ntk"))
    assert untouched(model, before)


def test_a_module_that_does_not_follow_its_table_is_refused():
    model = tiny_llama()
    fixed = copy.deepcopy(rotary(model))
    rotary(model).forward = lambda x, position_ids: fixed(x, position_ids)
    before = logits(model, 40)
    with pytest.raises(mrrope.Error, match="does not follow its table") as error:
        mrrope.patch(model, "1k")
    assert error.value.code == "unsupported" and untouched(model, before)


def test_a_module_of_another_make_is_refused():
    model = tiny_llama()
    before = logits(model, 40)
    model.model.layers[0].self_attn.rotary_emb = torch.nn.Module()
    model.model.layers[0].self_attn.rotary_emb.register_buffer("inv_freq", torch.ones(32))
    with pytest.raises(mrrope.Error, match=r"layers\.0\.self_attn\.rotary_emb"):
        mrrope.patch(model, "1k")
    assert untouched(model, before)


def test_models_without_rotation_and_things_that_are_no_models_are_refused():
    gpt2 = model_of(AutoConfig.for_model("gpt2", n_embd=32, n_layer=1, n_head=2, vocab_size=96))
    with pytest.raises(mrrope.Error):
        mrrope.patch(gpt2, "1k")
    for thing in (None, 5, "model", object()):
        with pytest.raises(TypeError):
            mrrope.patch(thing, "1k")
    with pytest.raises(mrrope.Error):
        mrrope.patch(tiny_llama(), "long")

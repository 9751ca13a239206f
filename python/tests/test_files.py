# SPDX-License-Identifier: MIT
"""Model files from Python: the safety of the command line, and files from anywhere."""
import json
import os
import random
import threading

import numpy as np
import pytest

import mrrope


# ---- Looking -------------------------------------------------------------------------------------------------------


def test_inspect_says_what_a_model_is(gguf, folder):
    found = mrrope.inspect(gguf)
    assert (found.format, found.architecture, found.layers, found.heads, found.kv_heads) == ("gguf", "llama", 12, 9, 3)
    assert found.path == str(gguf) and found.bytes == gguf.stat().st_size
    # 12 layers, keys and values, 3 heads of 64, 2 bytes each
    assert found.kv_bytes_per_token() == 12 * 2 * 3 * 64 * 2
    cache = found.kv_cache("32k", element_bytes=34 / 32)
    assert cache.bytes == 32768 * found.kv_bytes_per_token(34 / 32)
    assert (cache.full_layers, cache.sliding_layers, cache.recurrent_bytes) == (12, 0, 0)
    with pytest.raises(mrrope.Error, match="sequences"):
        found.kv_cache(1, sequences=0)
    assert mrrope.inspect(folder).spec.context == 8192
    assert mrrope.inspect(os.fsencode(folder)).format == "hf"


def test_doctor_finds_nothing_in_a_healthy_file_and_names_what_is_wrong(gguf, folder):
    assert mrrope.doctor(gguf) == [] and mrrope.doctor(folder) == []
    config = json.loads((folder / "config.json").read_text())
    config["rope_scaling"] = {"rope_type": "linear"}  # without its factor
    findings = mrrope.doctor(config)
    assert findings and all(f.code.startswith("R1") and f.message for f in findings)
    assert {f.severity for f in findings} <= {"note", "warning", "error"}


def test_doctor_tells_what_one_engine_does_wrong(folder):
    config = json.loads((folder / "config.json").read_text())
    config["max_position_embeddings"] = 32768
    config["rope_scaling"] = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    assert mrrope.doctor(config) == [] and mrrope.doctor(config, "vLLM") == []
    refused = mrrope.doctor(config, target="mistral.rs")
    assert [(f.code, f.severity, f.engine) for f in refused] == [("R200", "error", "mistral.rs")]


def test_effective_is_what_an_engine_does(gguf, folder):
    plain = 500000.0 ** (-np.arange(64) / 64)
    for engine in ("transformers5", "vllm"):
        found = mrrope.effective(folder, engine)
        assert found.loads and found.context == 8192
        np.testing.assert_allclose(found.groups[0].inv_freq, plain, rtol=1e-14)
    assert mrrope.effective(gguf, "llama.cpp").groups[0].attention_scale == 1
    names = [engine.name for engine in mrrope.engines()]
    assert "vllm" in names and len(names) == len(set(names))
    for engine, code in (("vlm", "invalid argument"), ("llama.cpp", "unsupported")):
        with pytest.raises(mrrope.Error) as error:
            mrrope.effective(folder, engine)
        assert error.value.code == code


def test_diff_compares_plans_files_and_engines(gguf, folder):
    plan = mrrope.plan(folder, "32k")
    assert mrrope.diff(plan, plan)[0].table == 0
    slowed = mrrope.diff(plan, folder)[0]
    assert slowed.table == pytest.approx(1 - 1 / 4, rel=1e-12) and slowed.scale == pytest.approx(0.1 * np.log(4))
    assert mrrope.diff(mrrope.effective(folder, "vllm"), folder)[0].table == 0
    assert mrrope.diff(gguf, folder)[0].table == 1  # another number of pairs


# ---- Writing -------------------------------------------------------------------------------------------------------


def test_a_gguf_is_copied_and_taken_back(gguf, tmp_path):
    before = gguf.read_bytes()
    done = mrrope.extend(gguf, "32k", output=tmp_path / "longer.gguf")
    assert gguf.read_bytes() == before
    assert done.written == done.model == str(tmp_path / "longer.gguf") and done.difference < 1e-6
    assert "rope_freqs.weight" in [change.name for change in done.changes]
    assert any("llama-server" in command and done.written in command for command in done.commands)
    plan = mrrope.plan(gguf, "32k")
    assert mrrope.diff(done.written, plan)[0].table < 1e-6
    assert mrrope.spec(done.written) == mrrope.spec(gguf)  # what it was before
    back = mrrope.undo(done.written, output=tmp_path / "back.gguf")
    assert mrrope.diff(back.written, gguf)[0].table == 0


def test_a_gguf_is_never_written_without_being_told_where(gguf):
    before = gguf.read_bytes()
    with pytest.raises(mrrope.Error, match="where to") as error:
        mrrope.extend(gguf, "32k")
    assert error.value.where == "output"
    for arguments in ({"output": gguf, "overwrite": True}, {"output": gguf}, {"output": "x.gguf", "in_place": True}):
        with pytest.raises(mrrope.Error):
            mrrope.extend(gguf, "32k", **arguments)
    done = mrrope.extend(gguf, "32k", dry_run=True)
    assert done.written == "" and done.difference is None and done.changes
    assert gguf.read_bytes() == before and list(gguf.parent.iterdir()) == [gguf]


def test_an_existing_output_is_kept(gguf, tmp_path):
    target = tmp_path / "out.gguf"
    target.write_text("mine")
    with pytest.raises(mrrope.Error):
        mrrope.extend(gguf, "32k", output=target)
    assert target.read_text() == "mine"
    assert mrrope.extend(gguf, "32k", output=target, overwrite=True).difference < 1e-6


def test_a_sidecar_leaves_the_model_alone(gguf):
    before = gguf.read_bytes()
    done = mrrope.extend(gguf, "32k", sidecar=True)
    assert gguf.read_bytes() == before and os.path.samefile(done.model, gguf)
    assert done.beside == [done.commands[0]] and os.access(done.beside[0], os.X_OK)
    assert "--override-kv" in done.commands[1] and done.model in done.commands[1]
    assert mrrope.undo(done.model).removed[:3] == [done.beside[0], done.written, done.model]
    assert not os.path.lexists(os.path.dirname(done.written))


def test_ollama_gets_a_modelfile(gguf, tmp_path):
    done = mrrope.extend(gguf, "32k", target="ollama", output=tmp_path / "longer.gguf")
    assert done.beside == [str(tmp_path / "Modelfile")]
    assert "\nFROM ./longer.gguf\n" in (tmp_path / "Modelfile").read_text()


def test_a_folder_is_linked_or_copied(folder, tmp_path):
    (folder / "model.safetensors").write_text("weights")
    mrrope.extend(folder, "32k", output=tmp_path / "links")
    mrrope.extend(folder, "32k", output=tmp_path / "copies", copy=True)
    assert (tmp_path / "links/model.safetensors").is_symlink() and not (tmp_path / "copies/model.safetensors").is_symlink()
    assert (tmp_path / "copies/model.safetensors").read_text() == "weights"


def test_more_than_64_times_is_asked_for(gguf, tmp_path):
    with pytest.raises(mrrope.Error, match="times the 8192") as error:
        mrrope.extend(gguf, "1M", output=tmp_path / "x.gguf", overwrite=True)
    assert error.value.code == "invalid argument"
    assert mrrope.extend(gguf, "1M", output=tmp_path / "x.gguf", any_factor=True).difference < 1e-6


def test_a_folder_keeps_its_original_config(folder):
    before = (folder / "config.json").read_bytes()
    done = mrrope.extend(folder, "32k")
    assert done.difference == 0 and (folder / "config.original.json").read_bytes() == before
    assert {service.engine: service.served for service in done.services}["vllm"]
    with pytest.raises(mrrope.Error, match="extended before") as error:
        mrrope.extend(folder, "64k")
    assert error.value.code == "inconsistent"
    mrrope.undo(folder)
    assert (folder / "config.json").read_bytes() == before
    with pytest.raises(mrrope.Error):
        mrrope.undo(folder)


def test_a_second_folder_links_the_weights(folder, tmp_path):
    before = (folder / "config.json").read_bytes()
    done = mrrope.extend(folder, "32k", "yarn", target="sglang", output=tmp_path / "longer")
    assert (folder / "config.json").read_bytes() == before and sorted(os.listdir(folder)) == ["config.json", "model.safetensors"]
    assert (tmp_path / "longer" / "model.safetensors").is_symlink()
    assert mrrope.effective(done.model, "sglang").context == 32768


def test_a_plan_is_written_if_it_was_made_for_the_model(gguf, folder, tmp_path):
    plan = mrrope.plan(gguf, "32k", "mrrope-uni")
    assert mrrope.extend(gguf, plan=plan, output=tmp_path / "uni.gguf").difference < 1e-6
    assert mrrope.diff(tmp_path / "uni.gguf", plan)[0].table < 1e-6
    for arguments, words in (
        ({"plan": mrrope.plan(folder, "32k")}, "made for a model with"),
        ({"plan": plan, "context": "16k"}, "its context"),
        ({"plan": plan, "method": "yarn"}, "its method"),
        ({}, "how long"),
        ({"context": "4k"}, "already reaches"),
    ):
        with pytest.raises(mrrope.Error, match=words):
            mrrope.extend(gguf, output=tmp_path / "no.gguf", **arguments)
    assert not (tmp_path / "no.gguf").exists()


def test_a_change_in_place_is_taken_back_byte_for_byte(gguf, tmp_path):
    before = gguf.read_bytes()
    try:
        mrrope.extend(gguf, "32k", in_place=True)
    except mrrope.Error as error:
        if error.code == "unsupported":
            pytest.skip(f"this file system cannot: {error}")
        raise
    assert mrrope.inspect(gguf).spec.context == 8192 and gguf.read_bytes() != before
    mrrope.undo(gguf, in_place=True)
    assert gguf.read_bytes() == before
    assert list(tmp_path.iterdir()) == [gguf]


def test_a_dry_run_leaves_an_interrupted_change_as_it_is(gguf, tmp_path):
    before = gguf.read_bytes()
    journal = tmp_path / (gguf.name + ".mrrope-journal")
    journal.write_bytes(b"MRROPEJ2" + bytes(76))
    for call in (lambda: mrrope.extend(gguf, "32k", dry_run=True), lambda: mrrope.undo(gguf, dry_run=True)):
        with pytest.raises(mrrope.Error, match="was interrupted"):
            call()
    with pytest.raises(mrrope.Error, match="damaged journal"):
        mrrope.extend(gguf, "32k", output=tmp_path / "out.gguf")
    assert gguf.read_bytes() == before and journal.exists() and len(list(tmp_path.iterdir())) == 2


# ---- vLLM ----------------------------------------------------------------------------------------------------------


def overridden(config, overrides):
    """As vLLM does it: into the config that transformers 5 has read, where rope_parameters is all there is."""
    out = {key: value for key, value in config.items() if key not in ("rope_scaling", "rope_theta")}
    for key, value in overrides.items():
        out[key] = overridden(config[key], value) if isinstance(value, dict) and key.endswith("_config") else value
    return out


@pytest.mark.parametrize("method", ["ntk", "linear", "yarn", "mrrope-pro", "mrrope-uni+resonance"])
@pytest.mark.parametrize("name", ["llama-2-7b", "llama-3.1-8b", "qwen3-8b", "gemma-3-4b"])
def test_overrides_make_vllm_run_the_plan(root, name, method):
    config = json.loads((root / f"tests/formats/configs/{name}.json").read_text())
    plan = mrrope.plan(config, 4 * mrrope.spec(config).context, method)
    found = mrrope.effective(overridden(config, mrrope.hf_overrides(plan, config)), "vllm", plan.context)
    assert found.loads
    for difference in mrrope.diff(found, plan):
        # the scale may come out of a formula of whole numbers (targets/hf_deliver.cpp)
        assert difference.table <= 1e-6 and difference.scale <= 2e-4


def test_overrides_need_no_model_for_a_plain_decoder(folder):
    plan = mrrope.plan(folder, "32k")
    assert mrrope.hf_overrides(plan) == mrrope.hf_overrides(plan, folder)
    assert mrrope.hf_overrides(plan)["max_position_embeddings"] == 32768


def test_overrides_of_several_groups_need_the_model(root, gguf):
    plan = mrrope.plan(root / "tests/formats/configs/gemma-3-4b.json", "512k")
    with pytest.raises(mrrope.Error, match="which model"):
        mrrope.hf_overrides(plan)
    with pytest.raises(mrrope.Error, match="found a GGUF"):
        mrrope.hf_overrides(mrrope.plan(gguf, "32k"), gguf)


# ---- From anywhere -------------------------------------------------------------------------------------------------

READERS = (mrrope.inspect, mrrope.doctor, lambda p: mrrope.effective(p, "llama.cpp"), lambda p: mrrope.plan(p, "32k"),
           lambda p: mrrope.extend(p, "32k", dry_run=True), lambda p: mrrope.undo(p, dry_run=True))


def refused_or_read(path, readers=READERS):
    for reader in readers:
        try:
            reader(path)
        except mrrope.Error as error:
            assert error.code in ("malformed", "inconsistent", "unsupported", "invalid argument", "input/output") and str(error)


def test_every_truncation_of_a_gguf_is_refused(gguf, tmp_path):
    data = gguf.read_bytes()
    torn = tmp_path / "torn.gguf"
    for size in range(0, len(data), 7):
        torn.write_bytes(data[:size])
        with pytest.raises(mrrope.Error):
            mrrope.inspect(torn)


def test_broken_ggufs_raise_nothing_but_our_error(gguf, tmp_path):
    data, torn, chance = gguf.read_bytes(), tmp_path / "torn.gguf", random.Random(7)
    for _ in range(400):
        bytes_ = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            bytes_[chance.randrange(len(bytes_))] = chance.choice((0, 255, chance.randrange(256)))
        torn.write_bytes(bytes_)
        refused_or_read(torn)


def test_names_that_are_not_utf8_are_shown_and_not_a_crash(gguf, tmp_path):
    data = gguf.read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(data.replace(b"tiny", b"\xff\xfe\x80y"))
    assert mrrope.inspect(broken).name == "???y"
    odd = os.fsencode(tmp_path) + b"/\xff\xfe.gguf"
    with open(odd, "wb") as file:
        file.write(data)
    assert os.fsencode(mrrope.inspect(odd).path) == odd
    assert os.fsencode(mrrope.inspect(os.fsdecode(odd)).path) == odd
    assert "\ufffd" in mrrope.plan(odd, "32k").source


def test_broken_configs_raise_nothing_but_our_error(folder, tmp_path):
    data, chance = (folder / "config.json").read_bytes(), random.Random(7)
    torn = tmp_path / "torn"
    torn.mkdir()
    for size in range(0, len(data) - 2, 11):
        (torn / "config.json").write_bytes(data[:size])
        with pytest.raises(mrrope.Error):
            mrrope.inspect(torn)
    config = json.loads(data)
    for _ in range(400):
        broken = dict(config)
        broken[chance.choice(sorted(config))] = chance.choice(
            (None, -1, 0, 1e308, 2**70, "x", [], {}, True, [1e400], {"rope_type": 5}, {"rope_type": "yarn", "factor": "4"}))
        refused_or_read(broken, READERS[:4])


@pytest.mark.parametrize("source, code", [
    ("no/such/file.gguf", "input/output"), ("", None), (".", None), ("a\0b", "invalid argument"), ({"a": {1, 2}}, "malformed"),
    ({}, None), ({"model_type": "llama", "rope_theta": float("nan")}, "malformed"),
])
def test_what_is_not_a_model_is_said_so(source, code):
    with pytest.raises(mrrope.Error) as error:
        mrrope.inspect(source)
    assert code in (None, error.value.code), error.value


@pytest.mark.parametrize("source", [None, 5, 1.5, [], object()])
def test_what_can_be_no_model_is_a_type_error(source):
    for reader in (mrrope.inspect, mrrope.doctor, mrrope.extend, mrrope.undo):
        with pytest.raises(TypeError):
            reader(source)


def test_a_config_that_contains_itself_is_refused():
    config = {"model_type": "llama"}
    config["text_config"] = config
    with pytest.raises(mrrope.Error):
        mrrope.inspect(config)


def test_threads_may_write_at_the_same_time(gguf, tmp_path):
    failures = []

    def work(i):
        try:
            for k in range(5):
                mrrope.extend(gguf, "32k", output=tmp_path / f"{i}-{k}.gguf")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(list(tmp_path.glob("*-*.gguf"))) == 20

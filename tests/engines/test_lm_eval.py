# SPDX-License-Identifier: MIT
"""What `mrrope export --lm-eval` writes, read by the real lm-evaluation-harness.

    $(tools/engine_env lm_eval) -m pytest -rs tests/engines/test_lm_eval.py

Its own functions find the files, print the tables, rescore the answers and turn samples into tables; its schema names the
keys; the datasets library loads both files as the harness does when it publishes them.
Environment: MRROPE_BIN (default build/release/mrrope), MRROPE_REQUIRE_ENGINES=1 (a missing harness is a failure).
"""

import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import types
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
try:
    from lm_eval import result_schema, utils
    from lm_eval.loggers import WandbLogger
    from lm_eval.loggers.evaluation_tracker import GeneralConfigTracker
except ImportError as error:
    reason = f"lm_eval is not usable in this python ({error}); see tools/engine_env"
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
MRROPE = Path(os.environ.get("MRROPE_BIN", ROOT / "build/release/mrrope")).absolute()
TASKS = ["niah_single_1", "niah_multivalue", "ruler_vt"]
LENGTHS = [4096, 8192, 131072]
PLANS = [("none", 1), ("yarn", 4), ("mrrope-pro", 4.5)]
SAMPLES = 7


def ruler():
    """lm_eval's RULER scorer: one file of a package that wants more, transformers' tokenizers among it."""
    path = Path(utils.__file__).parent / "tasks/ruler/common_utils.py"
    spec = importlib.util.spec_from_file_location("ruler_common_utils", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "transformers", types.SimpleNamespace(AutoTokenizer=None))
        spec.loader.exec_module(module)
    return module


def write_run(folder, task, records):
    folder.mkdir()
    info = {"schema": "mrrope.run/1", "task": task, "model": "org/a model: 7B?.gguf", "model_hash": "ab" * 16,
            "architecture": "llama", "context_trained": 4096, "engine": "llama.cpp 0.5.0", "served": False, "version": "0.1.0",
            "machine": "a machine", "started": "2026-11-15T08:00:00Z", "settings": {"samples": "7"},
            "command": ["mrrope", "eval", task]}
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def answers():
    """Answers that are right, half right and wrong in turn, with the score that RULER gives them."""
    for method, factor in PLANS:
        for task in TASKS:
            for length in LENGTHS:
                for index in range(SAMPLES):
                    if task == "ruler_vt" and length == 131072 and method == "none":
                        continue  # an unfinished run
                    right = (index * 5 + length // 4096 + len(method)) % 3
                    document = f"{task} {length} #{index}"
                    yield {"schema": "mrrope.record/1", "key": f"{document} {method}", "task": task, "method": method,
                           "factor": factor, "document": document, "document_hash": document.encode().hex()[-32:],
                           "answer": {"length": length, "index": index, "depth": index / SAMPLES,
                                      "prompt_tokens": length - 130, "new_tokens": 20,
                                      "text": [" nothing\n", " It is ALPHA", "alpha and béta \"✓\""][right],
                                      "finish": "stop", "references": ["alpha", "béta"], "score": right / 2,
                                      "rotation": "0123456789abcdef"},
                           "seconds": 0.25}


def passes():
    for method, factor in PLANS:
        for document in range(3):
            points = [{"length": n, "predicted": n - 1, "nll": (n - 1) * (1 + document / 10)} for n in LENGTHS]
            yield {"schema": "mrrope.record/1", "key": f"{document} {method}", "task": "ppl", "method": method,
                   "factor": factor, "document": f"{document}.txt", "document_hash": f"{document:032x}",
                   "points": points, "bucket": 0, "bucket_nll": [], "kl_tokens": 0, "kl": 0, "inv_freq": [1.0],
                   "attention_scale": 1, "seconds": 1}


def export(run, output):
    done = subprocess.run([MRROPE, "export", run, "--lm-eval", output, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["files"]


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("ruler")
    return export(write_run(root / "run", "ruler", answers()), root / "out")


@pytest.fixture(scope="module")
def ppl_files(tmp_path_factory):
    root = tmp_path_factory.mktemp("ppl")
    return export(write_run(root / "run", "ppl", passes()), root / "out")


def results_of(files, method):
    (name,) = [f for f in utils.get_results_filenames(files) if f"-{method}" in f]
    return json.loads(Path(name).read_text(encoding="utf-8")), Path(name)


def samples_of(files, method, task):
    (name,) = [f for f in utils.get_sample_results_filenames(files)
               if f"-{method}" in f and utils.get_file_task_name(Path(f).name) == task]
    return read_lines(name)


def test_the_harness_finds_and_names_the_files(files):
    assert len(utils.get_results_filenames(files)) == len(PLANS)
    samples = utils.get_sample_results_filenames(files)
    assert len(samples) == len(PLANS) * len(TASKS)
    assert {utils.get_file_task_name(Path(f).name) for f in samples} == set(TASKS)
    stamps = {utils.get_file_datetime(Path(f).name).removesuffix(".json") for f in files}
    assert len(stamps) == 1 and ":" not in stamps.pop()
    utils.get_latest_filename(samples)
    for method, factor in PLANS:
        results, path = results_of(files, method)
        assert path.parent.name == results["model_name_sanitized"] == utils.sanitize_model_name(results["model_name"])
        assert GeneralConfigTracker._get_model_name(results["config"]["model_args"]) == "org/a model: 7B?.gguf"
        assert results["config"]["model_args"]["rope_scale"] == factor


def test_keys_are_those_of_its_schema(files, ppl_files):
    allowed = set(result_schema.EvalResults.__annotations__)
    promised = {"results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config",
                "date", "model_name", "task_hashes", "total_evaluation_time_seconds"}
    sample_keys = set(result_schema.SampleResult.__annotations__)
    for some, tasks in ((files, TASKS), (ppl_files, ["ppl"])):
        results, _ = results_of(some, "yarn")
        assert promised <= set(results) <= allowed
        assert isinstance(results["total_evaluation_time_seconds"], str)
        for task in tasks:
            assert results["configs"][task]["metadata"]["generator"].startswith("mrrope ")
            count = results["n-samples"][task]["effective"]
            samples = samples_of(some, "yarn", task)
            assert count == results["results"][task]["sample_len"] == len(samples)
            for number, sample in enumerate(samples):
                assert sample_keys | set(sample["metrics"]) == set(sample)
                assert sample["doc_id"] == number


def test_its_scorer_gives_our_scores(files):
    """Every answer again from the sample file; then the mean as its aggregation makes it."""
    scorer = ruler()
    for method, _ in PLANS:
        results, _ = results_of(files, method)
        for task in TASKS:
            samples = samples_of(files, method, task)
            for sample in samples:
                for length, score in scorer.process_results(sample["doc"], sample["filtered_resps"]).items():
                    assert sample[length] == score
            for length in map(str, LENGTHS):
                mean = scorer.aggregate_metrics([sample.get(length, -1) for sample in samples])
                assert results["results"][task].get(f"{length},none", -1) == pytest.approx(mean, abs=1e-15)
                scores = [sample[length] for sample in samples if sample.get(length, -1) != -1]
                if scores:
                    stderr = statistics.stdev(scores) / math.sqrt(len(scores))
                    assert results["results"][task][f"{length}_stderr,none"] == pytest.approx(stderr, abs=1e-15)
        for length in map(str, LENGTHS):
            values = [results["results"][task].get(f"{length},none") for task in TASKS]
            if None in values:  # not all tasks reach it
                assert f"{length},none" not in results["groups"]["ruler"]
            else:
                assert results["groups"]["ruler"][f"{length},none"] == pytest.approx(sum(values) / 3, abs=1e-15)


def test_its_tables_show_our_numbers(files, ppl_files):
    results, _ = results_of(files, "mrrope-pro")
    table = utils.make_table(results)
    value, stderr = (results["results"]["ruler_vt"][key] for key in ("8192,none", "8192_stderr,none"))
    row = next(line for line in table.split("ruler_vt")[1].splitlines() if "8192" in line)
    assert f"{value:.4f}" in row and f"{stderr:.4f}" in row and "↑" in row, table
    assert "- ruler_vt" in table and "0.1.0" in table
    groups = utils.make_table(results, "groups")
    assert "ruler" in groups and f"{results['groups']['ruler']['4096,none']:.4f}" in groups
    results, _ = results_of(ppl_files, "yarn")
    assert results["results"]["ppl"]["4096,none"] == pytest.approx(math.exp(1.1))
    table = utils.make_table(results)
    assert f"{math.exp(1.1):.4f}" in table and "↓" in table
    assert "groups" not in results


def test_its_loggers_take_results_and_samples(files, ppl_files):
    for some, tasks in ((files, TASKS), (ppl_files, ["ppl"])):
        results, _ = results_of(some, "yarn")
        logger = object.__new__(WandbLogger)  # without an account
        logger.post_init(results)
        _, flat = logger._sanitize_results_dict()
        assert flat[f"{tasks[0]}/8192"] == results["results"][tasks[0]]["8192,none"]
        configs = logger._get_config()["task_configs"]
        for task in tasks:
            samples = samples_of(some, "yarn", task)
            for sample in samples:  # in memory the harness has lists where its files have objects
                sample["arguments"] = [list(arguments.values()) for arguments in sample["arguments"].values()]
            frame = logger._generate_dataset(samples, configs[task])
            assert list(frame["filtered_predictions"]) == [sample["resps"][0][0] for sample in samples]
            assert list(frame["8192"]) == [sample["8192"] for sample in samples]


def test_the_datasets_library_loads_both_files(files, ppl_files, tmp_path):
    from datasets import load_dataset

    for name in files + ppl_files:
        data = load_dataset("json", data_files=name, split="train", cache_dir=str(tmp_path))
        if Path(name).name.startswith("results_"):
            assert data["results"][0]
        else:
            assert data["resps"][:] == [line["resps"] for line in read_lines(name)]


def test_another_export_adds_and_an_empty_run_is_refused(tmp_path):
    run = write_run(tmp_path / "run", "ppl", passes())
    first, second = export(run, tmp_path / "out"), export(run, tmp_path / "out")
    assert not set(first) & set(second)
    empty = write_run(tmp_path / "empty", "ppl", [])
    done = subprocess.run([MRROPE, "export", empty, "--lm-eval", tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 1 and "no records" in done.stderr
    assert not (tmp_path / "none").exists()

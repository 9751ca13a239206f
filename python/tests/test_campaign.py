# SPDX-License-Identifier: MIT
"""Campaign files, jobs and folders: what needs neither Ray nor an engine. tests/campaign has those."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import mrrope
import pytest
from mrrope.campaign import costs, programs
from mrrope.campaign.board import board_of
from mrrope.campaign.file import read_campaign
from mrrope.campaign.folder import Folder
from mrrope.campaign.jobs import count_of, jobs_of

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML, and PyYAML may not be there")

BASIC = """
schema = "mrrope.campaign/1"
name = "small"
plans = ["none", "yarn"]
lengths = ["1k", 512]
output = "out"
[[models]]
name = "tiny"
path = "tiny.gguf"
engine = "llama.cpp"
[[measurements]]
kind = "niah"
samples = 3
[[measurements]]
kind = "ppl"
texts = ["*.txt"]
"""


@pytest.fixture(name="read")
def _read(tmp_path):
    (tmp_path / "tiny.gguf").touch()
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("text")

    def read(text=BASIC, tiny=False):
        (tmp_path / "c.toml").write_text(text)
        return read_campaign(str(tmp_path / "c.toml"), tiny)

    return read


def changed(read, old, new):
    assert old in BASIC
    return read(BASIC.replace(old, new))


def test_a_file_is_read_with_paths_from_its_own_folder(read, tmp_path):
    campaign = read()
    assert campaign.models[0].path == str(tmp_path / "tiny.gguf")
    assert campaign.measurements[1].values["texts"] == (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert campaign.output == str(tmp_path / "out")
    assert campaign.measurements[0].lengths == (512, 1024)
    assert campaign.target == 1024


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("campaign/1", "campaign/2", 'c.toml: schema: expected "mrrope.campaign/1", found \'mrrope.campaign/2\''),
        ("samples = 3", "sample = 3", 'measurements[0].sample: there is no such key here; did you mean "samples"?'),
        ("samples = 3", "samples = -3", "[0].samples: expected a whole number from 0 to 2147483648, found -3"),
        ("samples = 3", "samples = true", "measurements[0].samples: expected a whole number"),
        ("512]", '"half"]', "lengths[1]: expected a length such as 4096, 32k or 1M, found 'half'"),
        ("512]", "0]", "lengths[1]: expected a length"),
        ("llama.cpp", "llama", "models[0].engine: expected one of llama.cpp, llama-server, vllm,"),
        ('path = "tiny.gguf"', 'path = "none.gguf"', "models[0].path: "),
        ('name = "tiny"', 'name = "../tiny"', "models[0].name: expected a name of letters, digits"),
        ('"yarn"]', '"none"]', '"none" and "none" would share a folder'),
        ('"yarn"]', '"yarn:a=1", "yarn:a_1"]', "would share a folder"),
        ('"yarn"]', '{tune = {}, file = "x"}]', "plans[1]: expected a method, or one of"),
        ('"yarn"]', '{file = "x.json"}]', "there is no such plan file"),
        ('kind = "ppl"\ntexts = ["*.txt"]', 'kind = "ppl"', "measurements[1].texts: expected texts, found nothing"),
        ('"*.txt"', '"*.md"', "no file has this name or fits this pattern"),
        ('output = "out"', "target = 600", "target: expected at least the longest length, 1024, found 600"),
        ('engine = "llama.cpp"', 'engine = "llama.cpp"\noptions = {"-x" = 1}', "names of options, without dashes"),
        ('output = "out"', 'published = "none.json"', "none.json: there is no such file"),
        ('output = "out"', 'cache_types = ["f16", "f16"]', "cache_types: expected types of cache such as [f16, q8_0]"),
        ('output = "out"', 'cache_types = ["f16 --json"]', "cache_types: expected types of cache such as [f16, q8_0]"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_what_was_expected(read, old, new, said):
    with pytest.raises(mrrope.Error) as caught:
        changed(read, old, new)
    assert said in str(caught.value)


def test_tiny_replaces_what_it_names_and_no_more(read):
    text = BASIC + '[tiny]\nlengths = [256]\n[tiny.measurements]\nsamples = 1\ntexts = ["a.txt"]\n'
    full, tiny = read(text), read(text, tiny=True)
    assert full == read()
    assert tiny.measurements[0].lengths == (256,) and tiny.measurements[0].values["samples"] == "1"
    assert len(tiny.measurements[1].values["texts"]) == 1 and "samples" not in tiny.measurements[1].values
    assert tiny.models == full.models
    with pytest.raises(mrrope.Error, match="expected what a tiny run replaces"):
        read(BASIC, tiny=True)


def test_yaml_says_the_same_and_a_key_that_stands_twice_is_refused(read, tmp_path):
    yaml = pytest.importorskip("yaml", reason="no PyYAML here; the campaign extra has it")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(tomllib.loads(BASIC)))
    assert read_campaign(str(tmp_path / "c.yaml")) == read()
    (tmp_path / "c.yaml").write_text("schema: mrrope.campaign/1\nname: a\nname: b\n")
    with pytest.raises(mrrope.Error, match='c.yaml:3:1: "name" stands twice'):
        read_campaign(str(tmp_path / "c.yaml"))


def validator(name):
    """Of a schema beside the package, in a checkout."""
    jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema here; see tools/engine_env ray")
    path = pathlib.Path(__file__).resolve().parents[2] / "docs/schemas" / name
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


def fits(name, document):
    assert not [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)]


def test_yaml_of_strangers_is_refused_in_one_line(tmp_path):
    pytest.importorskip("yaml", reason="no PyYAML here; the campaign extra has it")
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefghijk", "bcdefghijkl"))
    for text, said in (("? [a, b]\n: 1\n", ":1:3: expected a name, found a list"),
                       ("a: !!python/object/apply:os.system [id]\n", "could not determine a constructor"),
                       (bomb, "schema: expected"), ("a: " + 20_000 * "[", "recursion"), ("models: &m [*m]\n", "schema"),
                       ("", "expected a mapping of names to values, found nothing")):  # fmt: skip
        (tmp_path / "c.yaml").write_text(text)
        with pytest.raises(mrrope.Error) as caught:
            read_campaign(str(tmp_path / "c.yaml"))
        assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_example_of_the_docs_is_read(tmp_path):
    """PyYAML alone takes 8.03e9 for a text: YAML 1.1 wants a sign in the exponent."""
    pytest.importorskip("yaml", reason="no PyYAML here; the campaign extra has it")
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/campaigns.md").read_text(encoding="utf-8")
    (tmp_path / "c.yaml").write_text(text.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    assert read_campaign(str(tmp_path / "c.yaml")).models[0].size.parameters == 8.03e9


def test_words_for_a_shell_are_read_as_bash_reads_them():
    from mrrope.campaign.engines.options import from_shell

    command = r"""server -m $'/a b\x0a\'c\\d\xc3\xa4' '/it'\''s $'\''x' --n 1"""
    assert from_shell(command) == ["server", "-m", "/a b\n'c\\d\u00e4", "/it's $'x", "--n", "1"]
    heard = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], stdout=subprocess.PIPE, check=True).stdout
    assert from_shell(command) == heard.decode().split("\0")[:-1]


def test_the_json_schema_agrees_with_the_reader(read):
    """Editors complete and check with it."""
    check = validator("mrrope.campaign-1.json").is_valid
    read()
    for more in ("", 'cache_types = ["f16", "q8_0"]\n'):
        read(more + BASIC)
        assert check(tomllib.loads(more + BASIC))
    for old, new in (("samples = 3", "sample = 3"), ("samples = 3", "samples = -3"), ("512]", '"half"]'),
                     ("llama.cpp", "llama"), ("campaign/1", "campaign/2"),
                     ('name = "tiny"', 'name = "../tiny"')):  # fmt: skip
        assert not check(tomllib.loads(BASIC.replace(old, new))), new
        with pytest.raises(mrrope.Error):
            changed(read, old, new)


def test_jobs_are_models_times_plans_times_shards_and_every_text_is_read_once(read):
    campaign = changed(read, 'output = "out"', "shards = 3")
    jobs = list(jobs_of(campaign))
    assert len(jobs) == count_of(campaign) == 2 * 3
    assert len({job.name for job in jobs}) == 6
    yarn = [step.words for job in jobs if job.plan.name == "yarn" for step in job.steps]
    assert sorted(words[words.index("--shard") + 1] for words in yarn if "--shard" in words) == ["0/3", "1/3", "2/3"]
    texts = [word for words in yarn for flag, word in zip(words, words[1:]) if flag == "-f"]
    assert sorted(text[-5:] for text in texts) == ["a.txt", "b.txt"]


def test_types_of_cache_are_an_axis_of_what_runs_in_process(read):
    one = changed(read, "samples = 3", 'samples = 3\ncache_types = ["f16", "q4_0"]')
    all_ = changed(read, 'output = "out"', 'cache_types = ["f16", "q8_0", "q4_0"]')

    def types(campaign):
        words = [step.words for step in next(jobs_of(campaign)).steps]
        return [one[one.index("--cache-types") + 1] if "--cache-types" in one else "" for one in words]

    assert (types(one), types(all_)) == (["f16,q4_0", ""], ["f16,q8_0,q4_0"] * 2)
    assert next(jobs_of(all_)).tokens == 3 * next(jobs_of(read())).tokens
    with Folder(all_.output).held(all_):
        assert Folder(all_.output).campaign() == all_
    with pytest.raises(mrrope.Error, match="llama-server has one type of cache at a time"):
        read(BASIC.replace("llama.cpp", "llama-server").replace('output = "out"', 'cache_types = ["f16"]'))


def test_a_search_comes_before_the_jobs_that_need_it(read):
    names = [job.name for job in jobs_of(changed(read, '"yarn"]', '{tune = {minutes = 1}}, "yarn"]'))]
    assert names == ["tiny/tuned/search", "tiny/none/0-of-1", "tiny/yarn/0-of-1", "tiny/tuned/0-of-1"]


def test_a_search_has_a_folder_to_write_into_and_without_its_plan_nothing_is_tried_twice(read, tmp_path, monkeypatch):
    """mrrope tune makes the last folder of a path and no other."""
    from mrrope.campaign import delivery
    from mrrope.campaign.work import is_worth_another

    search, _, job = jobs_of(changed(read, '"yarn"]', "{tune = {minutes = 1}}]"))
    folder = Folder(str(tmp_path / "out"))
    monkeypatch.setattr(delivery, "files_of", lambda model: model.path)
    with pytest.raises(mrrope.Error, match="the search for its plan has not found one") as caught:
        delivery.deliver(job, folder)
    assert not is_worth_another(caught.value)
    program = tmp_path / "mrrope"
    program.write_text('#!/bin/sh\nfor last; do :; done\nmkdir "$last" && touch "$last/plan.json"\n')
    program.chmod(0o755)
    delivery.search(search, folder, str(program))
    assert delivery.is_searched(search, folder)


def test_a_folder_remembers_the_campaign_and_what_is_done(read):
    campaign = read()
    folder = Folder(campaign.output)
    with folder.held(campaign):
        first = next(jobs_of(campaign))
        for step in first.steps:
            folder.set_done(step, 1)
    again = Folder(campaign.output)
    assert again.campaign() == campaign
    board, _ = board_of(campaign, again)
    assert [(cell.done, cell.jobs) for cell in board.cells.values()] == [(1, 1), (0, 1)]
    more = changed(read, "samples = 3", "samples = 4")  # asks for more than is there
    assert [again.is_done(step) for step in next(jobs_of(more)).steps] == [False, True]


def test_a_second_driver_is_refused_and_a_killed_one_leaves_no_lock(read, tmp_path):
    campaign = read()
    code = ("import sys, time\n"
            "from mrrope.campaign.file import read_campaign\n"
            "from mrrope.campaign.folder import Folder\n"
            "c = read_campaign(sys.argv[1])\n"
            "with Folder(c.output).held(c): print('held', flush=True); time.sleep(60)")  # fmt: skip
    words = [sys.executable, "-c", code, tmp_path / "c.toml"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        folder = Folder(campaign.output)
        assert folder.is_held()
        said = f"another driver runs this campaign: process {other.pid} on "
        with pytest.raises(mrrope.Error, match=said), folder.held(campaign):
            pass
        other.kill()
    assert not folder.is_held()
    with folder.held(campaign):
        assert folder.is_held()


# Dealt out in turn, with as many depths as shards, a shard had one depth.
def test_shards_of_transformers_are_those_of_mrrope_eval():
    from mrrope.campaign import in_transformers

    one = object.__new__(in_transformers._Measured)
    one._key = lambda *parts: parts
    words = ["niah", "-m", "m", "--plan", "p", "--label", "l", "--lengths", "1k,4k", "--samples", "7", "--depths", "5", "-o", "o"]
    for shards in (1, 3, 5):
        found = []
        for shard in range(shards):
            one._asked = in_transformers._asked([*words, "--shard", f"{shard}/{shards}"])
            asked = {(length, index, depth) for (_, length, _, index, depth, _), _ in one._samples(None)}
            assert len({depth for _, _, depth in asked}) > 1
            found += asked
        assert sorted(found) == [(length, index, index % 5 / 4) for length in (1024, 4096) for index in range(35)]


def test_a_folder_of_another_campaign_is_refused(read):
    campaign = read()
    with Folder(campaign.output).held(campaign):
        pass
    other = changed(read, 'name = "small"', 'name = "other"')
    with pytest.raises(mrrope.Error, match='found "small"'), Folder(other.output).held(other):
        pass


def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(read, tmp_path):
    campaign = read()
    (tmp_path / "out/running").mkdir(parents=True)
    (tmp_path / "out/running/mine.txt").write_text("mine")
    (tmp_path / "out/lock").write_text("mine, too")
    with pytest.raises(mrrope.Error, match="expected an empty folder"), Folder(campaign.output).held(campaign):
        pass
    assert (tmp_path / "out/running/mine.txt").read_text() == "mine"
    assert (tmp_path / "out/lock").read_text() == "mine, too"
    assert sorted(os.listdir(tmp_path / "out")) == ["lock", "running"]


@pytest.mark.parametrize("name", ["lock", "events.jsonl", "logs/report.txt", "running/{job}"])
def test_a_link_in_a_planted_folder_is_not_written_through(read, tmp_path, name):
    campaign = read()
    with Folder(campaign.output).held(campaign):
        pass
    job = next(jobs_of(campaign))
    path = pathlib.Path(campaign.output) / name.format(job=job.name.replace("/", "+"))
    path.unlink(missing_ok=True)
    (tmp_path / "mine").write_text("mine")

    def plant():
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(tmp_path / "mine")

    if name == "lock":
        plant()
    folder = Folder(campaign.output)
    with pytest.raises(OSError), folder.held(campaign):
        if name != "lock":
            plant()
        folder.log("began", job)
        programs.run(["true"], folder.path / "logs/report.txt")
        with folder.at_work(job):
            pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_lock_of_something_else_is_not_replaced(read):
    campaign = read()
    folder = pathlib.Path(campaign.output)
    folder.mkdir(parents=True)
    (folder / "lock").write_text("of another program")
    with pytest.raises(mrrope.Error, match="lock: is not what mrrope campaign wrote"), Folder(campaign.output).held(campaign):
        pass
    assert (folder / "lock").read_text() == "of another program"


@pytest.mark.parametrize("keys", [("models", 0, "name"), ("shards",), ("name",)])
def test_a_planted_folder_neither_names_files_elsewhere_nor_makes_work_without_end(read, keys):
    campaign = read()
    with Folder(campaign.output).held(campaign):
        pass
    path = pathlib.Path(campaign.output) / "campaign.json"
    whole = json.loads(path.read_text())
    place = whole
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = 10**15 if keys == ("shards",) else "../../elsewhere"
    path.write_text(json.dumps(whole))
    with pytest.raises(mrrope.Error, match="is not what mrrope campaign wrote"):
        Folder(campaign.output).campaign()


def test_json_that_is_nested_without_end_is_one_error_too(read):
    campaign = read()
    with Folder(campaign.output).held(campaign):
        pass
    folder = Folder(campaign.output)
    (folder.path / "events.jsonl").write_text("[" * 200_000 + "\n")
    assert not list(folder.events())
    (folder.path / "campaign.json").write_text("[" * 200_000)
    with pytest.raises(mrrope.Error, match="is not what mrrope campaign wrote"):
        folder.campaign()


def test_a_folder_that_cannot_be_written_is_one_line(read, tmp_path, capsys):
    from mrrope.campaign.command import main

    read()
    (tmp_path / "out").touch()
    assert main([str(tmp_path / "c.toml"), "--local"]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path}/out: File exists\n"


@pytest.mark.parametrize("victim", ["worker", "guard"])
def test_programs_end_with_their_worker_even_if_it_is_killed(tmp_path, victim):
    """Ray kills the children of a worker whose node is lost: the guard is one, the program is not."""
    log = tmp_path / "log.txt"
    code = ("import pathlib, sys; from mrrope.campaign import programs\n"
            "programs.run(['sh', '-c', 'echo $$; sleep 61 & wait'], pathlib.Path(sys.argv[1]))")  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", code, log], stderr=subprocess.DEVNULL) as worker:
        deadline = time.monotonic() + 60
        while not (log.exists() and log.read_text().count("\n") == 2):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        group = int(log.read_text().split()[-1])
        children = pathlib.Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        os.kill(worker.pid if victim == "worker" else int(children[0]), signal.SIGKILL)
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the program's group outlived its worker")


def test_a_program_that_fails_is_quoted_by_its_last_start(tmp_path):
    log = tmp_path / "log.txt"
    for text in ("first", "second"):
        with pytest.raises(mrrope.Error) as caught:
            programs.run(["sh", "-c", f"echo {text}; exit 7"], log)
    assert str(caught.value).endswith("ended with status 7: second")


def test_the_last_words_of_a_program_do_not_reach_the_terminal_as_commands(tmp_path):
    with pytest.raises(mrrope.Error) as error:
        programs.run([sys.executable, "-c", r"print('a\x1b]0;title\x07b'); raise SystemExit(1)"], tmp_path / "log")
    assert "a ]0;title b" in str(error.value)


def test_a_program_ends_when_the_server_that_it_asks_has(tmp_path):
    """mrrope eval would wait for it for five minutes."""
    serve = "import sys, http.server as h; h.HTTPServer((sys.argv[2], int(sys.argv[4])), h.SimpleHTTPRequestHandler).serve_forever()"
    # A name with {port} in it is a name
    with programs.serving([sys.executable, "-c", serve + "  # {port}"], tmp_path / "server.txt", {}, "/") as server:
        assert "# {port}" in " ".join(server.process.args)
        server.process.kill()
        began = time.monotonic()
        with pytest.raises(mrrope.Error, match="the server ended") as caught:
            programs.run(["sleep", "60"], tmp_path / "log.txt", server=server)
    assert caught.value.code == "input/output" and time.monotonic() - began < 30


def test_what_cannot_be_is_tried_once_and_what_failed_again(read, tmp_path, monkeypatch):
    """A program that ends with 2 was asked for something wrong, with 3 found something wrong: docs/json.md."""
    from mrrope.campaign.command import main
    from mrrope.campaign.engines.running import Running

    read()
    monkeypatch.setattr("mrrope.campaign.delivery.deliver", lambda job, folder: None)
    running = Running(lambda kind: [str(tmp_path / "mrrope")])
    monkeypatch.setattr("mrrope.campaign.engines.ready", lambda *_: contextlib.nullcontext(running))
    for status, tried in ((2, 1), (3, 1), (1, 3)):
        program = tmp_path / "mrrope"
        program.write_text(f"#!/bin/sh\necho x >>{tmp_path}/tried-{status}\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("MRROPE_BIN", str(program))
        assert main([str(tmp_path / "c.toml"), "--local"]) == 1
        assert (tmp_path / f"tried-{status}").read_text().count("x") == tried * 2


def test_table_2_costs_what_docs_scale_says(read):
    """docs/scale.md, table `Tokens`: 80 pairs of model and plan, RULER with 13 tasks and 500 samples, Llama-3.1-8B."""
    text = BASIC.split("[[models]]")[0].replace('["1k", 512]', '["4k", "8k", "16k", "32k", "64k", "128k"]')
    text += '[[models]]\nname = "llama"\npath = "meta-llama/Llama-3.1-8B"\nengine = "vllm"\ngpus = 1\n'
    text += 'size = {parameters = 8.03e9, layers = 32, width = 4096}\n[[measurements]]\nkind = "ruler"\nsamples = 500\n'
    campaign = read(text)
    hours = costs.gpu_hours(campaign, campaign.models[0].size, costs.FLOPS)
    assert [round(80 * one) for one in hours] == [25, 54, 120, 292, 787, 2386]
    lines = costs.estimate(campaign, 8, costs.FLOPS)
    assert "78,000 prompts, 3,354,624,000 tokens, 91.6 GPU-hours" in lines[0]
    said = "91.6 GPU-hours at 4e+14 operations a second, "
    assert lines[2] == said + "45.8 hours on 8 GPUs, of which 2 have work: give it more `shards`"
    assert costs.estimate(read("shards = 4\n" + text), 8, costs.FLOPS)[2] == said + "11.5 hours on 8 GPUs"


def test_a_dry_run_needs_none_of_the_data(read, tmp_path, capsys):
    from mrrope.campaign.command import main

    read()
    (tmp_path / "c.toml").write_text(BASIC.replace('"*.txt"', '"1.txt", "2.txt", "more/*.txt"'))
    assert main([str(tmp_path / "c.toml"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "126 prompts" in said and f"{tmp_path}/1.txt, {tmp_path}/2.txt, {tmp_path}/more/*.txt" in said
    assert main([str(tmp_path / "c.toml"), "--local"]) == 1


def test_a_page_gets_the_published_values_of_its_model_or_all(read, tmp_path, monkeypatch):
    from mrrope.campaign import report

    values = [{"model": name, "value": 1} for name in ("tiny", "large")]
    handed = []
    handed_over = lambda words, log: handed.append(json.loads(pathlib.Path(words[-3]).read_text()))  # noqa: E731
    monkeypatch.setattr(report, "run", handed_over)
    for names, expected in ((("tiny", "large"), values[:1]), (("small", "large"), None)):
        document = {"values": [{**value, "model": name} for name, value in zip(names, values)]}
        (tmp_path / "published.json").write_text(json.dumps(document))
        campaign = changed(read, 'output = "out"', 'published = "published.json"\noutput = "out"')
        run = tmp_path / "out/runs/tiny/niah/yarn/0-of-1/records.jsonl"
        run.parent.mkdir(parents=True, exist_ok=True)
        run.write_text("{}\n")
        assert report.write_pages(campaign, Folder(campaign.output), "mrrope") == [tmp_path / "out/tiny.html"]
        assert handed.pop() == ({"values": expected} if expected else document)


def test_status_is_json_for_programs(read, tmp_path, capsys):
    from mrrope.campaign.command import main

    campaign = read()
    with Folder(campaign.output).held(campaign):
        Folder(campaign.output).log("failed", next(jobs_of(campaign)), error="the disk is full")
    assert main(["status", campaign.output, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["cells"][0] == {"model": "tiny", "plan": "none", "jobs": 1, "done": 0, "running": 0, "failed": 1,
                                  "tokens": 10 * 3 * 1536 + 2048, "tokens_done": 0}  # fmt: skip
    assert status["failures"] == [{"job": "tiny/none/0-of-1", "error": "the disk is full"}] and not status["driver"]
    assert main(["status", str(tmp_path)]) == 1
    fits("campaign-status.schema.json", status)

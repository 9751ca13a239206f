# SPDX-License-Identifier: MIT
"""`mrrope eval --endpoint` with servers that lie: where the key goes, and what is said of what they did.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_served.py
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_benchmarks import Later, records, run, stub  # noqa: E402  pylint: disable=wrong-import-position


class Strange(Later):
    """Does as Later, says what it is told to, counts as it is told to, and keeps the keys it was sent."""

    def do_POST(self):  # pylint: disable=invalid-name
        self.server.keys.append(self.headers.get("Authorization"))
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        self.server.asked += self.path == "/tokenize"
        if self.path == "/tokenize":
            status, answer = 200, {"tokens": list(body.get("content", "")) if self.server.asked <= self.server.counts else []}
        else:
            status, answer = self.server.status, {"choices": [{"text": self.server.says, "finish_reason": self.server.finish}],
                                                  "usage": {"prompt_tokens": len(body.get("prompt", "")), "completion_tokens": 1}}
        text = json.dumps(answer if status == 200 or self.path == "/v1/models" else {"error": {"message": self.server.says}}).encode()
        self.send_response(200 if self.path == "/v1/models" else status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def strange(**state):
    return stub(Strange, **{"keys": [], "asked": 0, "counts": 10**9, "status": 200, "says": " 1", "finish": "stop"} | state)


def niah(url, *more, status=0):
    return run("niah", "--endpoint", url, "--model", "m", "--lengths", "1k", "--depths", 2, *more, status=status)


def keys_sent(*more):
    keys = []
    with strange(keys=keys) as url:
        niah(url, *more)
    return set(keys)


def test_a_key_comes_from_our_variable_or_one_that_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    monkeypatch.delenv("MRROPE_API_KEY", raising=False)
    assert keys_sent() == {None}
    assert keys_sent("--api-key-env", "OPENAI_API_KEY") == {"Bearer sk-of-another-service"}
    monkeypatch.setenv("MRROPE_API_KEY", "sk-of-this-one")
    assert keys_sent() == {"Bearer sk-of-this-one"}


def test_a_key_in_the_place_of_its_variable_is_neither_sent_nor_repeated(tmp_path):
    with strange() as url:
        done = niah(url, "--api-key-env", "sk-very-secret", "-o", tmp_path / "run", status=2)
    assert "--api-key-env: expected the name of an environment variable" in done.stderr
    assert "sk-very-secret" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_key_that_a_server_spells_otherwise_is_in_no_record(tmp_path, monkeypatch):
    monkeypatch.setenv("MRROPE_API_KEY", "Sk_Very_Secret")
    with strange(says=" it is SK_VERY_SECRE", finish="sk_very_secret") as url:
        done = niah(url, "-o", tmp_path / "run")
    written = (tmp_path / "run" / "records.jsonl").read_text().lower()
    assert "sk_very" not in written and "very_secret" not in written
    assert [r["answer"]["finish"] for r in records(tmp_path / "run")] == ["[key]"] * 2
    assert "warning" not in done.stderr  # the loopback


def test_a_key_that_others_can_read_on_the_way_is_warned_of_once(monkeypatch):
    with strange() as url:
        open_url = url.replace("127.0.0.1", "0.0.0.0")
        assert "warning" not in niah(open_url).stderr
        monkeypatch.setenv("MRROPE_API_KEY", "sk-very-secret")
        done = niah(open_url)
    assert done.stderr.count(f"warning: the API key goes to {open_url} without encryption") == 1
    assert "sk-very-secret" not in done.stderr


def test_a_failure_of_servers_is_not_called_one_of_lengths():
    with strange(status=400, says="the model is asleep") as url:
        done = niah(url, status=1)
    assert "2 samples have no answer" in done.stderr and "the model is asleep" in done.stderr
    assert "--lengths" not in done.stderr and "nothing fits" not in done.stderr
    assert done.stderr.count("error: ") == 1


def test_a_count_of_nothing_is_not_believed():
    with strange(counts=0) as url:
        assert "do not tokenise" in niah(url).stderr
    with strange(counts=1) as url:  # only the first
        done = niah(url, status=1)
    assert "finds no token in a text of" in done.stderr and "-m model.gguf" in done.stderr
    assert "found null" not in done.stderr

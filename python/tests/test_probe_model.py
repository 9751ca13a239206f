# SPDX-License-Identifier: MIT
"""mrrope.probe on models of transformers 4 and 5: servers are named by what they say, and those that lie are refused.

    MRROPE_REQUIRE_ENGINES=1 PYTHONPATH=<the wheel, unpacked> $(tools/engine_env transformers5) -m pytest python/tests/test_probe_model.py
"""
import contextlib
import copy
import http.server
import json
import os
import pathlib
import threading

import pytest

import mrrope
from mrrope import asking, measuring, probing

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import gguf  # noqa: F401  pylint: disable=unused-import
    import torch
    import transformers
except ImportError as problem:
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(f"this python lacks transformers or gguf ({problem}); see tools/test_wheel", pytrace=False)
    pytest.skip(f"no transformers or no gguf in this python ({problem}); see tools/test_wheel", allow_module_level=True)

import tiny_model  # noqa: E402  pylint: disable=wrong-import-position

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
MODEL = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models" / "tiny-512.gguf"
KEY = "sk-0123456789abcdef"
QUICK = {"longest": 256, "texts": 2}


@pytest.fixture(scope="module", name="tiny")
def fixture_tiny():
    return tiny_model.model(MODEL)


@pytest.fixture(autouse=True)
def fixture_no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


# ---- A server ------------------------------------------------------------------------------------------------------


class Stub(http.server.ThreadingHTTPServer):
    """Answers as vLLM 0.32.0 and llama-server 0.5.0 do, with all logits of one pass, in double."""

    def __init__(self, model, owner="vllm", length=1024, lie=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.owner, self.length = model, owner, length
        self.lie = lie or (lambda path, answer: answer)
        self.asked = []  # path, headers, body

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path, body):
        if path == "/v1/models":
            extra = {"max_model_len": self.length} if self.owner == "vllm" else {"meta": {"n_ctx": self.length}}
            return {"object": "list", "data": [{"id": "tiny", "object": "model", "owned_by": self.owner, **extra}]}
        if path == "/props":
            return {"default_generation_settings": {"n_ctx": self.length}}
        prompt, tokens = body["prompt"], list(body["prompt"])
        torch.manual_seed(body.get("seed", 0))
        for _ in range(body["max_tokens"]):
            last = self.rows(tokens)[-1]
            tokens.append(int(last.exp().multinomial(1) if body["temperature"] else last.argmax()))
        rows = self.rows(tokens)
        choice = {"index": 0, "text": "", "finish_reason": "length", "logprobs": None, "prompt_logprobs": None}
        new = range(len(prompt), len(tokens))
        if "prompt_logprobs" in body:
            top = [self.top(rows[at - 1], body["prompt_logprobs"], tokens[at]) for at in range(1, len(prompt))]
            choice["prompt_logprobs"] = [None, *({str(t): {"logprob": p, "rank": 1, "decoded_token": ""} for t, p in row} for row in top)]
        if "logprobs" in body:
            top = {at: self.top(rows[at - 1], body["logprobs"], tokens[at]) for at in new}
            if self.owner == "vllm":
                choice["logprobs"] = {
                    "tokens": [f"token_id:{tokens[at]}" for at in new], "text_offset": [],
                    "token_logprobs": [float(rows[at - 1][tokens[at]]) for at in new],
                    "top_logprobs": [{f"token_id:{t}": p for t, p in top[at]} for at in new]}
            else:
                choice["logprobs"] = {"content": [
                    {"id": tokens[at], "token": "", "bytes": [], "logprob": float(rows[at - 1][tokens[at]]),
                     "top_logprobs": [{"id": t, "token": "", "bytes": [], "logprob": p} for t, p in top[at]]} for at in new]}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(new), "total_tokens": len(tokens)}
        return {"object": "text_completion", "model": "tiny", "choices": [choice], "usage": usage}

    def rows(self, tokens):
        with torch.no_grad():
            return self.model(torch.tensor([tokens])).logits[0].double().log_softmax(-1)

    @staticmethod
    def top(row, count, also):
        tokens = row.topk(count).indices.tolist()
        return [(t, float(row[t])) for t in tokens + [also] * (also not in tokens)]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else None
        self.server.asked.append((self.path, self.headers, body))
        answer = self.server.lie(self.path, self.server.answer(self.path, body))
        status, headers, content = answer if isinstance(answer, tuple) else (200, {}, answer)
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(content), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        with contextlib.suppress(OSError):  # who has read enough hangs up
            self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(model, plan=None, **how):
    """The same weights under a plan, behind HTTP."""
    model = copy.deepcopy(model)
    if plan is not None:
        mrrope.patch(model, plan)
    stub = Stub(model, **how)
    thread = threading.Thread(target=stub.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield stub
    finally:
        stub.shutdown()
        thread.join()
        stub.server_close()


# ---- Naming --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", ["vllm", "llamacpp"])
@pytest.mark.parametrize("method, factor", [("mrrope-pro", 4), ("yarn", 2), ("none", 1)])
def test_a_server_is_named_by_what_it_says(tiny, method, factor, owner):
    plan = mrrope.plan(tiny.config, factor * 512, method)
    with serving(tiny, plan, owner=owner) as stub:
        found = mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), longest=512, texts=2)
    assert (found.verdict, found.method, found.factor, found.certain) == ("named", method, factor, True), str(found)
    assert found.plan.inv_freq == pytest.approx(plan.inv_freq) and found.scale_off == 0 and not found.tied
    assert found.rivals[0].name == found.name and found.name in repr(found) and found.name in str(found)
    assert found.software == {"vllm": "vLLM", "llamacpp": "llama.cpp"}[owner]


def test_a_plan_of_ones_own_is_named_if_it_is_given(tiny):
    own = mrrope.plan(tiny.config, "2k", mrrope.Method.custom([1 + i / 8 for i in range(len(mrrope.spec(tiny.config).inv_freq))]))
    with serving(tiny, own) as stub:
        found = mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), plans=[own], longest=512, texts=2)
        unknown = mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), longest=512, texts=2)
    assert found.certain and found.plan == own
    assert not unknown.certain and unknown.verdict == "none" and unknown.method is None and unknown.why


def test_other_weights_are_not_named(tiny):
    other = copy.deepcopy(tiny)
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in other.parameters():
            weight.mul_(1 + 0.5 * torch.randn_like(weight))
    with serving(other) as stub:
        found = mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), **QUICK)
    assert found.verdict == "unclear" and "weights" in found.why and found.method is None and not found.certain


def test_the_key_comes_from_the_environment_and_the_server_gets_what_it_is_asked(tiny, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    words = []
    with serving(tiny, length=200) as stub:
        mrrope.probe(stub.url + "/v1/", tiny, tiny_model.tokenizer(), served_model="tiny", api_key_env="MY_KEY",
                     progress=lambda *word: words.append(word), **QUICK)
        asked = stub.asked
    assert {headers["Authorization"] for _, headers, _ in asked} == {f"Bearer {KEY}"}
    prompts = [body["prompt"] for path, _, body in asked if path == "/v1/completions"]
    assert [len(prompt) for prompt in prompts] == [1] * 6 + [200 - 16] * 2  # the server's length, less an answer's
    assert all(body["model"] == "tiny" and body["stream"] is False for _, _, body in asked if body)
    assert "vLLM" in words[0][2] and [word[0] for word in words[1:]] == list(range(len(words) - 1)) and words[1][1] > 1


@pytest.mark.parametrize("step", [512, 48])
def test_rows_are_as_likely_as_in_one_pass(tiny, monkeypatch, step):
    monkeypatch.setattr(measuring, "_STEP", step)
    tokens = torch.randint(0, 256, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    with torch.no_grad():
        wanted = tiny(torch.tensor([tokens])).logits[0].double().log_softmax(-1)
    reader = measuring.Reader(tiny)
    for end, places in ((60, [1, 20, 60]), (130, [61, 96, 97, 129]), (1, [1]), (200, [200])):
        said = probing.Statement(tokens[:end], [probing.Row(at, [5, 80, 7], [-1, -2, -3]) for at in places])
        for row, at in zip(reader.log_p(said), places, strict=True):
            assert row == pytest.approx([float(wanted[at - 1][t]) for t in (5, 80, 7)], abs=2e-5)


def test_stretches_of_a_text_are_read_in_one_pass_and_other_texts_by_themselves(tiny):
    tokens = torch.randint(0, 256, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    ends = [(tokens[:40], [1, 30, 40]), (tokens[:90], [50, 90]), (tokens[:200], [120, 200]), (tokens[50:90], [40]), (tokens[:40], [40])]
    said = [probing.Statement(some, [probing.Row(at, [5, 80], [-1, -2]) for at in places]) for some, places in ends]
    passes = []
    hook = tiny.register_forward_hook(lambda *_: passes.append(1))
    found = probing._log_p(measuring.Reader(tiny), said)
    hook.remove()
    assert len(passes) <= 2 * 3  # a step up to the first row, and one from there on
    for rows, one in zip(found, said, strict=True):
        for row, wanted in zip(rows, measuring.Reader(tiny).log_p(one), strict=True):
            assert row == pytest.approx(wanted, abs=2e-5)


def test_a_model_is_left_as_it_was_however_it_ends(tiny):
    model = copy.deepcopy(tiny).train()
    model.model.layers[0].eval()
    flags = [module.training for module in model.modules()]
    rotary = dict(vars(model.model.rotary_emb))
    passes = []

    def fail_in_time(*_):
        passes.append(1)
        if len(passes) == 20:
            assert "_mrrope_patch" in vars(model) and not model.training
            raise KeyboardInterrupt

    hook = model.register_forward_hook(fail_in_time)
    with serving(tiny) as stub, pytest.raises(KeyboardInterrupt):
        mrrope.probe(stub.url, model, tiny_model.tokenizer(), **QUICK)
    hook.remove()
    assert [module.training for module in model.modules()] == flags
    assert vars(model.model.rotary_emb).keys() == rotary.keys() and "_mrrope_patch" not in vars(model)


# ---- Lies ----------------------------------------------------------------------------------------------------------


def changed(change):
    """A lie about completions; `change` gets the answer and its choice."""

    def lie(path, answer):
        if path != "/v1/completions":
            return answer
        return change(answer, answer["choices"][0]) or answer

    return lie


def of_prompt(change):
    return changed(lambda answer, choice: choice["prompt_logprobs"] and change(choice["prompt_logprobs"]))


def first(places):
    return next(iter(places[9].values()))


def in_models(**fields):
    return lambda path, answer: {"data": [{**answer["data"][0], **fields}]} if path == "/v1/models" else answer


LIES = {
    "no JSON": (changed(lambda *_: (200, {}, b"<html>")), "malformed"),
    "a list": (changed(lambda *_: [1]), "malformed"),
    "nothing": (changed(lambda *_: {"choices": []}), "malformed"),
    "depth": (changed(lambda *_: (200, {}, b"[" * 100_000)), "malformed"),
    "a field twice": (changed(lambda *_: (200, {}, b'{"usage": 1, "usage": 1}')), "malformed"),
    "too much": (changed(lambda *_: (200, {}, b" " * (asking._MOST_BYTES + 1))), "malformed"),
    "less than it said": (changed(lambda a, _: (200, {"Content-Length": 10**6, "Connection": "close"}, a)), "input/output"),
    "a redirect": (changed(lambda *_: (302, {"Location": "http://127.0.0.1:9/"}, b"")), "input/output"),
    "a refusal": (changed(lambda *_: (400, {}, {"error": {"message": "no"}})), "invalid argument"),
    "other tokens": (changed(lambda a, _: a["usage"].update(prompt_tokens=7)), "unsupported"),
    "half a token": (changed(lambda a, _: a["usage"].update(prompt_tokens=1.0)), "malformed"),
    "no probabilities": (changed(lambda _, c: c.update(logprobs=None)), "unsupported"),
    "a word": (changed(lambda _, c: c.update(logprobs="none")), "malformed"),
    "no answer": (changed(lambda _, c: c["logprobs"] and c["logprobs"].update(tokens=[], top_logprobs=[])), "malformed"),
    "texts": (changed(lambda _, c: c["logprobs"] and c["logprobs"].update(top_logprobs=[{" the": -1}])), "malformed"),
    "no places": (changed(lambda _, c: c.pop("prompt_logprobs")), "malformed"),
    "a place too few": (of_prompt(lambda p: p.pop() and None), "malformed"),
    "an empty place": (of_prompt(lambda p: p[9].clear()), "malformed"),
    "too many": (of_prompt(lambda p: p[9].update({str(t): {"logprob": -30} for t in range(200)})), "malformed"),
    "likelier than certain": (of_prompt(lambda p: first(p).update(logprob=0.5)), "malformed"),
    "more than 1 together": (of_prompt(lambda p: [one.update(logprob=-0.1) for one in p[9].values()] and None), "malformed"),
    "not a number": (of_prompt(lambda p: first(p).update(logprob=float("nan"))), "malformed"),
    "infinite": (of_prompt(lambda p: first(p).update(logprob=float("-inf"))), "malformed"),
    "true": (of_prompt(lambda p: first(p).update(logprob=True)), "malformed"),
    "a huge number": (of_prompt(lambda p: first(p).update(logprob=-(10**400))), "malformed"),
    "a token of another model": (of_prompt(lambda p: p[9].update({"300": {"logprob": -30}})), "unsupported"),
    "a negative token": (of_prompt(lambda p: p[9].update({"-1": {"logprob": -30}})), "malformed"),
    "no models": (lambda path, answer: {"data": []} if path == "/v1/models" else answer, "invalid argument"),
    "unknown software": (in_models(owned_by="me"), "unsupported"),
    "a name with a line break": (in_models(id="tiny\nX: 1"), "malformed"),
    "a length of nothing": (in_models(max_model_len=0), "malformed"),
    "a short length": (in_models(max_model_len=40), "unsupported"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_gets_no_verdict(tiny, lie):
    change, code = LIES[lie]
    with serving(tiny, lie=change) as stub, pytest.raises(mrrope.Error) as caught:
        mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), **QUICK)
    assert caught.value.code == code, caught.value
    assert lie != "a redirect" or "HTTP 302" in str(caught.value)  # not what is there
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_a_key_that_is_repeated_is_not_shown(tiny, monkeypatch):
    monkeypatch.setenv("MRROPE_API_KEY", KEY)
    for word in (KEY, KEY.upper(), f"bad key {KEY[4:14]}"):
        for lie in ((401, {}, {"error": word}), {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": word}]},
                    {word: 1}):
            with serving(tiny, lie=lambda *_, lie=lie: lie) as stub, pytest.raises(mrrope.Error) as caught:
                mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), **QUICK)
            assert KEY[4:12] not in str(caught.value).lower() and caught.value.__cause__ is None


def test_what_cannot_work_is_refused_before_anything_is_asked(tiny, monkeypatch):
    other = mrrope.plan(mrrope.Spec(dim=128, context=4096), "8k")
    with serving(tiny) as stub:
        for url in ("localhost:8000", "ftp://host", f"{stub.url}?key=1", "http://user:word@host", "http://a b", "http://"):
            with pytest.raises(mrrope.Error, match="expected http://host:port"):
                mrrope.probe(url, tiny, tiny_model.tokenizer())
        for options in ({"longest": 63}, {"longest": 2049}, {"texts": 1}, {"plans": [other]}):
            with pytest.raises(mrrope.Error):
                mrrope.probe(stub.url, tiny, tiny_model.tokenizer(), **options)
        with mrrope.patch(copy.deepcopy(tiny), "2k") as patched, pytest.raises(mrrope.Error, match="patched already"):
            mrrope.probe(stub.url, patched._model, tiny_model.tokenizer())
        monkeypatch.setenv("MRROPE_API_KEY", "two\r\nX-Lines: 1")
        with pytest.raises(mrrope.Error, match="visible ASCII") as caught:
            mrrope.probe(stub.url, tiny, tiny_model.tokenizer())
        assert "X-Lines" not in str(caught.value) and not stub.asked


def test_a_server_that_is_busy_is_waited_for_and_one_that_is_away_is_an_error(tiny, monkeypatch):
    monkeypatch.setattr(asking, "_PATIENCE", (0.01, 0.01, 0.01))
    refusals = []

    def busy(_, answer):
        refusals.append(1)
        return (503, {}, {"error": "loading"}) if len(refusals) < 4 else answer

    with serving(tiny, lie=busy) as stub:
        assert asking.Server(stub.url, None, "NO_KEY").length == 1024
        url = stub.url
    with pytest.raises(mrrope.Error, match="no answer") as caught:
        mrrope.probe(url, tiny, tiny_model.tokenizer())
    assert caught.value.code == "input/output"

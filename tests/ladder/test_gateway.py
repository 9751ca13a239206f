# SPDX-License-Identifier: MIT
"""The LiteLLM proxy with our hook in front of real llama-servers: every request on the lowest rung that holds it.

    $(tools/engine_env litellm) -m pytest -q tests/ladder

A minute on an idle machine, a third of it until proxies and rungs are up. tools/ladder_study.py asks a thousand times and
measures. The right rung is computed from the tokens that the server says it read.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import signal
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import gateway as g  # noqa: E402  pylint: disable=wrong-import-position

LITELLM = pathlib.Path(sys.executable).with_name("litellm")
MRROPE = os.environ.get("MRROPE_BIN", str(g.ROOT / "build" / "release" / "mrrope"))
LENGTHS = (512, 1024, 2048)
RESERVE = 64
KINDS = [(path, stream) for path in (g.CHAT, g.TEXT) for stream in (False, True)]
TEXT = "It was the best of times, it was the worst of times. " * 60

if not LITELLM.exists():  # the rest of this folder needs it; whoever imports this file is skipped with the reason
    reason = f"this python has no LiteLLM beside it ({LITELLM}); see tools/engine_env litellm"
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


class Ladder:
    """Rungs and a gateway, and beside them the folder that `mrrope ladder` writes, whose rungs are processes of one server."""

    def __init__(self, folder, kept):
        def keep(process):
            kept.callback(process.end)
            return process

        self.rungs = [keep(g.Rung(length, folder, MRROPE)) for length in LENGTHS]
        (folder / "tiny.gguf").symlink_to(g.MODEL)  # clients ask for its name
        written = g.Folder(MRROPE, folder / "tiny.gguf", folder / "deploy", "-c", str(LENGTHS[-1]), "--reserve", str(RESERVE))
        self.router = keep(g.Router(written))
        self.hooked = keep(g.gateway(folder / "hooked", g.configuration(self.rungs, RESERVE), LITELLM))
        self.routed = keep(written.gateway(LITELLM))
        for process in (*self.rungs, self.router, self.hooked, self.routed):
            process.wait()
        # What a template adds, by the server's own count
        self.around = {path: g.ask(self.rungs[0].url, path, g.body_of(path, "a", max_tokens=1)).prompt - 1 for path in (g.CHAT, g.TEXT)}

    def ask(self, path, prompt, stream=False, **more):
        """A prompt of so many tokens."""
        answer = g.ask(self.hooked.url, path, g.body_of(path, TEXT[:prompt - self.around[path]], **more), stream)
        assert answer.status != 200 or answer.error or answer.prompt == prompt
        return answer

    def right(self, answer, tokens):
        return g.rung_of(self.rungs, answer.prompt, tokens)


@pytest.fixture(scope="module", name="ladder")
def ladder_(tmp_path_factory):
    with contextlib.ExitStack() as kept:
        yield Ladder(tmp_path_factory.mktemp("ladder"), kept)


@pytest.mark.parametrize(("path", "stream"), KINDS)
def test_around_every_border_the_lowest_rung_that_holds_prompt_and_answer_takes_it(ladder, path, stream):
    for border in LENGTHS[:-1]:
        for tokens in (1, 8):
            for off in (-1, 0, 1):
                answer = ladder.ask(path, border - tokens + off, stream, max_tokens=tokens)
                assert (answer.status, answer.answer, answer.fallbacks) == (200, tokens, 0), answer.error
                assert answer.rung == ladder.right(answer, tokens)


@pytest.mark.parametrize(("path", "stream"), KINDS)
def test_a_long_answer_that_was_asked_for_is_not_cut(ladder, path, stream):
    """llama-server itself cuts it, and says 200."""
    direct = g.ask(ladder.rungs[0].url, path, g.body_of(path, TEXT[:400], max_tokens=500))
    assert (direct.status, direct.finish) == (200, "length") and direct.answer < 500
    answer = ladder.ask(path, 450, stream, max_tokens=300)
    assert (answer.rung, answer.answer) == ("1k", 300)


def test_without_a_limit_the_reserve_decides_and_the_last_rung_gives_what_it_has(ladder):
    for prompt, rung in ((512 - RESERVE, "512"), (513 - RESERVE, "1k"), (2048 - RESERVE, "2k"), (2049 - RESERVE, "2k"), (2047, "2k")):
        answer = ladder.ask(g.TEXT, prompt, stop=["e", " "])
        assert (answer.status, answer.rung) == (200, rung), answer.error
    answer = ladder.ask(g.TEXT, 2040)
    assert (answer.rung, answer.answer) == ("2k", 8)


@pytest.mark.parametrize(("path", "stream"), KINDS)
def test_beyond_the_last_rung_the_error_says_how_much(ladder, path, stream):
    answer = ladder.ask(path, 2045, stream, max_tokens=4)
    assert answer.status == 400
    assert answer.error == "2045 tokens of prompt and 4 asked for exceed the 2048 that the longest rung of tiny takes"
    assert ladder.ask(path, 2048, stream).error == "2048 tokens of prompt exceed the 2048 that the longest rung of tiny takes"


@pytest.mark.parametrize("field", ["max_completion_tokens", "n_predict"])
def test_other_names_of_the_limit_count_as_well(ladder, field):
    assert ladder.ask(g.TEXT if field == "n_predict" else g.CHAT, 480, **{field: 40}).rung == "1k"


def test_prompts_of_tokens_and_several_prompts_are_counted(ladder):
    ask = lambda prompt: g.ask(ladder.hooked.url, g.TEXT, {"model": "tiny", "prompt": prompt, "max_tokens": 4}).rung  # noqa: E731
    assert [ask([97] * n) for n in (508, 509)] == ["512", "1k"]
    assert ask(["a", "b" * 600]) == "1k"
    assert ask([[97], [98] * 1100]) == "2k"


def test_conversations_and_tools_are_counted_as_the_template_writes_them(ladder):
    tools = [{"type": "function", "function": {"name": "f", "description": "d" * 90, "parameters": {"type": "object", "properties": {}}}}]
    for more in ({}, {"tools": tools}, {"response_format": {"type": "json_object"}}):
        for size in range(150, 170, 4):  # four messages around 512
            talk = [{"role": role, "content": "a" * size} for role in ("system", "user")]
            talk += [{"role": "assistant", "content": "b" * 20}, {"role": "user", "content": "c"}]
            answer = g.ask(ladder.hooked.url, g.CHAT, {"model": "tiny", "messages": talk, "max_tokens": 4, **more})
            assert (answer.status, answer.rung) == (200, ladder.right(answer, 4)), answer.error


HOSTILE = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"model": "tiny"}', b'{"model": ["tiny"], "prompt": "a"}', b'{"model": "nobody", "prompt": "a"}',
    *({"model": "tiny", "prompt": "a" * 500, "max_tokens": limit} for limit in (-5, "8", [], {}, 10**9, 10**30, 1e300, -1e300)),
    *({"model": "tiny", "prompt": prompt, "max_tokens": 4} for prompt in (None, [], {}, 5, [None], [1.5], [97, "a"], [[[[]]]])),
]


def test_nonsense_is_refused_and_harms_nobody(ladder):
    for body in HOSTILE:
        answer = g.ask(ladder.hooked.url, g.TEXT, body)
        assert 400 <= answer.status <= 500, body
    for messages in ("x", [{}], [1], [{"role": "user"}], [{"role": "user", "content": 5}]):
        answer = g.ask(ladder.hooked.url, g.CHAT, {"model": "tiny", "messages": messages, "max_tokens": 4})
        assert 400 <= answer.status <= 500, messages
    assert ladder.ask(g.TEXT, 500, max_tokens=4).rung == "512"  # and nothing was taken out of service


def test_a_rung_can_be_asked_for_by_name(ladder):
    assert g.ask(ladder.hooked.url, g.TEXT, {"model": "tiny-2k", "prompt": "a", "max_tokens": 1}).rung == "2k"


@pytest.mark.parametrize("dead", [0, 1])
def test_the_next_rung_up_takes_over_for_one_that_is_killed_and_hands_back(ladder, dead):
    """Of requests under way, a streamed one may end in an error that the client sees (docs/ladder.md); none is left without an answer."""
    rung, above = ladder.rungs[dead], ladder.rungs[dead + 1]
    prompt = rung.length - 40

    def send(i):
        if i == 8:
            rung.kill()
        path, stream = KINDS[i % 4]
        return ladder.ask(path, prompt, stream, max_tokens=32)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(send, range(24)))
    for i, answer in enumerate(answers):
        if answer.status == 200 and not answer.error:
            assert answer.rung in (rung.name, above.name) and answer.answer == 32
        else:
            assert i in range(5, 11) and KINDS[i % 4][1] and answer.error, i
    assert all(answer.rung == above.name for answer in answers[12:])
    rung.start()
    rung.wait()
    assert ladder.ask(g.TEXT, prompt, max_tokens=32).rung == rung.name


def test_the_written_folder_serves_by_the_commands_of_its_readme(ladder):
    """Its router starts a process anew that was killed; until it has noticed, the next rung up takes over."""
    def send(path, prompt, stream):
        text = TEXT[:prompt - ladder.around[path]]
        answer = g.ask(ladder.routed.url, path, g.body_of(path, text, max_tokens=8), stream)
        answer.rung = (answer.rung or "").removeprefix("tiny-")
        return answer

    for path, stream in KINDS:
        for prompt in (504, 505, 1016, 1017):
            answer = send(path, prompt, stream)
            assert (answer.status, answer.rung) == (200, ladder.right(answer, 8)), answer.error
    os.kill(ladder.router.child("tiny-1k"), signal.SIGKILL)
    for _ in range(60):  # LiteLLM may hold a failure against it for some seconds after it is back
        answers = [send(path, 600, stream) for path, stream in KINDS]
        assert all(answer.status == 200 and answer.rung in ("1k", "2k") for answer in answers), [answer.error for answer in answers]
        if all(answer.rung == "1k" for answer in answers):
            return
        time.sleep(1)
    pytest.fail("a minute later the rung that was killed has not taken its requests back")

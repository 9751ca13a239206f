# SPDX-License-Identifier: MIT
"""The stand-in cuts as Ollama's own tests say: TestContextShiftPromptLimit and
TestLlamaServerCompletionContextShiftTruncatesPromptOverContext in llm/llama_server_test.go at fb30760996.

    $(tools/engine_env gguf) -m pytest tests/probe/test_ollama_proxy.py
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import ollama_proxy  # noqa: E402  pylint: disable=wrong-import-position


@pytest.mark.parametrize(("num_ctx", "keep", "read"), [(8, 3, 6), (4096, 4, 2050), (4096, 5, 2051), (8, 99, 7)])
def test_a_prompt_beyond_the_length_is_read_in_part(num_ctx, keep, read):
    assert len(ollama_proxy.cut(list(range(2 * num_ctx)), num_ctx, keep)) == read


def test_its_beginning_and_its_end_stay():
    assert ollama_proxy.cut(list(range(10)), 8, 3) == [0, 1, 2, 7, 8, 9]
    assert ollama_proxy.cut(list(range(10)), 8, 3, "full") == [0, 1, 2, 5, 6, 7, 8, 9]


def test_a_prompt_that_fits_stays_whole():
    assert len(ollama_proxy.cut(list(range(7)), 8, 3)) == 7
    assert len(ollama_proxy.cut(list(range(8)), 8, 3, "full")) == 8

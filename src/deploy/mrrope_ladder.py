# SPDX-License-Identifier: MIT
"""Sends each request to the lowest rung of a ladder that holds its prompt and its answer: a hook of the LiteLLM proxy.

In litellm.yaml, which this file has to be beside (docs/ladder.md):

    - model_name: tiny            # what clients ask for, and the lowest rung
      litellm_params: {model: openai/tiny, api_base: "http://127.0.0.1:8081/v1", api_key: none}
      model_info: {id: tiny-512, ladder: tiny, length: 512, reserve: 64, engine: llama.cpp}

`length` is what a rung takes, in tokens of prompt and answer; `reserve`, on the lowest, is kept for an answer whose length
nobody named. A server counts the prompt, with its own template, so the count is exact; where none does, the request stays
on the lowest rung. Refusals of servers and LiteLLM's fallbacks alone do not suffice: llama-server cuts an answer that does
not fit, and no fallback reaches a streamed completion.
"""
import math

import httpx
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import ProxyException

TEXT = ("text_completion", "atext_completion")
CHAT = ("completion", "acompletion")
# Where llama-server counts a kind of request, and the fields that change the text that its template makes.
TEMPLATE = ("messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
            "chat_template_kwargs", "reasoning_effort", "add_generation_prompt", "continue_final_message")
COUNTERS = {kind: ("/v1/chat/completions/input_tokens", TEMPLATE) for kind in CHAT} | {
    "aresponses": ("/v1/responses/input_tokens", ("input", "instructions", "tools", "tool_choice", "text", "reasoning")),
    "anthropic_messages": ("/v1/messages/count_tokens", ("messages", "system", "tools", "tool_choice", "thinking")),
}
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict")
COUNTING, GREETING = httpx.Timeout(30, connect=2), httpx.Timeout(5, connect=2)


def rungs_of(model):
    """The deployments of the ladder `model`, by length; none: it is no ladder."""
    from litellm.proxy.proxy_server import llm_router  # set once the proxy is up
    found = [d for d in llm_router.model_list if (d.get("model_info") or {}).get("ladder") == model] if llm_router else []
    return sorted(found, key=lambda d: d["model_info"]["length"])


def answer_of(data, reserve):
    """(tokens that the answer may take, whether the request says so). The largest where several fields do."""
    named = [data[name] for name in LIMITS if isinstance(data.get(name), (int, float)) and not isinstance(data[name], bool)]
    named = [math.ceil(max(-1, min(value, 2**31))) for value in named if value == value]
    if not named or min(named) < 0:  # -1: without end
        return max(1, reserve, *named), False
    return max(1, *named), True  # servers want room for one


def address(rung, path):
    return rung["litellm_params"]["api_base"].rstrip("/").removesuffix("/v1") + path


async def ask(client, rung, path, body):
    """What a server says, as JSON. Raises httpx.HTTPError; ValueError for what is no JSON."""
    params = rung["litellm_params"]
    answer = await client.post(address(rung, path), json=body | {"model": params["model"].removeprefix("openai/")},
                               headers={"Authorization": f"Bearer {params.get('api_key')}"}, timeout=COUNTING)
    return answer.raise_for_status().json()


async def count(client, rung, data, kind):
    """Tokens of the prompt, the longest of several; None: this server cannot say."""
    if kind in TEXT:
        prompt, longest = data.get("prompt"), 0
        several = isinstance(prompt, list) and any(isinstance(part, (str, list)) for part in prompt)
        for part in prompt if several else [prompt]:  # the first three fields are llama.cpp's, the others vLLM's
            body = {"content": part, "add_special": True, "parse_special": True, "prompt": part, "add_special_tokens": True}
            tokens = part if isinstance(part, list) else (await ask(client, rung, "/tokenize", body))["tokens"]
            longest = max(longest, len(tokens))
        return longest
    path, names = COUNTERS[kind]
    body = {name: data[name] for name in names if data.get(name) is not None}
    if rung["model_info"].get("engine") == "llama.cpp":
        return (await ask(client, rung, path, body))["input_tokens"]
    return (await ask(client, rung, "/tokenize", body))["count"] if kind in CHAT else None


async def is_up(client, rung):
    try:
        return (await client.get(address(rung, "/health"), timeout=GREETING)).status_code == 200
    except httpx.HTTPError:
        return False


class Route(CustomLogger):
    client = None  # made in the loop that uses it

    async def counted(self, rungs, data, kind):
        """(tokens of the prompt, the rung that counted them); None for what nobody can say."""
        for rung in rungs:
            try:
                return await count(self.client, rung, data, kind), rung
            except (httpx.HTTPError, ValueError, KeyError, TypeError):
                pass  # it is down, or finds fault with the request: the next one has the same tokenizer
        return None, None

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        self.client = self.client or httpx.AsyncClient()
        rungs = rungs_of(data.get("model")) if call_type in TEXT or call_type in COUNTERS else []
        prompt, counter = await self.counted(rungs, data, call_type)
        if not isinstance(prompt, int):
            return data
        answer, named = answer_of(data, rungs[0]["model_info"].get("reserve", 0))
        if prompt + (answer if named else 1) > (room := rungs[-1]["model_info"]["length"]):
            tokens = f"{prompt} tokens of prompt" + (f" and {answer} asked for" if named else "")
            raise ProxyException(f"{tokens} exceed the {room} that the longest rung of {data['model']} takes",
                                 "invalid_request_error", "prompt" if call_type in TEXT else "messages", 400)
        # An answer that nobody asked a length for gets what the last rung has left.
        fitting = [rung for rung in rungs if prompt + answer <= rung["model_info"]["length"]] or rungs[-1:]
        data["model"] = fitting[0]["model_name"]
        for rung in fitting:
            if rung is counter or await is_up(self.client, rung):
                data["model"] = rung["model_name"]
                break
        return data


route = Route()

# SPDX-License-Identifier: MIT
"""Names the table that a running server rotates by: `mrrope probe URL -m`, on a transformers model that is in memory.

    print(mrrope.probe("http://localhost:8000", model, tokenizer))

Nothing in a server's protocol names its table, but the probabilities of next tokens do: the same weights run here under
candidate plans give other ones. The search and the verdict are those of mrrope/fingerprint.h, and take probabilities
from anybody: Fingerprint asks for those of a plan, and is told them.
"""

from __future__ import annotations

from . import _core
from ._core import Fingerprint, Rival, Row, Statement, Suspect, TableVerdict, suspects
from .errors import Error
from .measuring import Reader
from .patching import patch
from .probing_statements import ANSWER, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Progress = Callable[[int, int, str], None]

__all__ = ["Fingerprint", "Probed", "Rival", "Row", "Statement", "Suspect", "TableVerdict", "probe", "suspects"]

_LEAST_TOKENS, _MOST_TOKENS = 64, 2048  # of the longest prompt, as cli/eval/cmd_probe.cpp
_MOST_TEXTS = 64


class Probed:
    """What a server runs, and whether it may be believed.

    verdict    "named", "tied" (several tables explain the server equally well), "none" (it runs something else than all
               that were tried) or "unclear" (its weights are others, or it said too little)
    certain    whether it is "named"
    name       of the best or nearest table: "mrrope-pro x4"
    method     the method as spelt, and `factor` its factor; None unless named or tied
    plan       with method and factor as found; None as they are
    scale_off  the server multiplies cos and sin by (1 + scale_off) times the method's scale
    why        for "none" and "unclear": a sentence
    tied       names of the tables that explain the server as well
    rivals     every table that was tried, the nearest first
    software   "vLLM" or "llama.cpp"
    """

    def __init__(self, found: TableVerdict, software: str) -> None:
        known = found.kind in ("named", "tied")
        self.verdict, self.certain = found.kind, found.kind == "named"
        self.name, self.why, self.tied, self.rivals = found.name, found.why, found.tied, found.rivals
        self.plan = found.plan if known else None
        self.method = str(self.plan.method) if self.plan else None
        self.factor = found.factor if known else None
        self.scale_off = found.scale_off if known else None
        self.software = software
        self._found = found

    def __repr__(self) -> str:
        return f"<{self.verdict}{': ' if self.name else ''}{self.name}>"

    def __str__(self) -> str:
        found, tried = self._found, len(self.rivals)
        if self.verdict == "unclear":
            return f"table     cannot be told: {self.why}"
        if self.verdict == "none":
            return f"table     none of the {tried} tables that were tried; the nearest is {self.name}: {self.why}"
        if self.verdict == "tied":
            lines = [f"table     tied: {', '.join([self.name, *self.tied])}"]
        else:
            lines = [f"table     {self.name}: no other table that was tried explains the server"]
        for rival in [other for other in self.rivals if other.name != self.name][:1]:
            lines.append(f"          the next of {tried}, {rival.name}, is {rival.times:.3g} times as far")
        if self.scale_off:
            off, error = 100 * self.scale_off, 100 * found.scale_error
            lines.append(f"          attention scale {off:+.1f} ± {error:.1f} % off the method's own")
        if found.factor_low < found.factor_high:
            lines.append(f"          the factor is {found.factor_low:.3g} to {found.factor_high:.3g}")
        return "\n".join(lines)


def probe(
    url: str,
    model: Any,
    tokenizer: Any,
    *,
    served_model: str | None = None,
    plans: Sequence[_core.Plan] = (),
    longest: int = 1024,
    texts: int = 4,
    seed: int = 1,
    api_key_env: str = "MRROPE_API_KEY",
    progress: Progress | None = None,
) -> Probed:
    """Asks a server for log probabilities, and looks for the plan that gives the same ones on the same weights.

    url           of vLLM or of llama.cpp's server: "http://localhost:8000"
    model         a causal language model of transformers with the weights that are served, on any device; it is left as
                  it was
    tokenizer     its tokenizer
    served_model  how the server calls the model; None: the first that it lists
    plans         that it may run, beside the published methods
    longest       tokens of the longest prompt, 64 to 2048; fewer where the server takes fewer
    texts         that it is asked about
    seed          of the prompts
    api_key_env   the variable of the environment that holds the API key, if there is one
    progress      is called with the tables run so far, the tables that are left, and what is done now

    Error: a server that does not answer, that answers something else than was asked for or names tokens that the model
    does not have, and whatever patch() refuses.
    """
    from .asking import Server  # HTTP takes longer to import than all the rest

    for name, value, low, high in (("longest", longest, _LEAST_TOKENS, _MOST_TOKENS), ("texts", texts, 2, _MOST_TEXTS)):
        if not low <= value <= high:
            raise Error(f"expected {low} to {high}, found {value}", "invalid argument", name)
    with patch(model, 1) as trial:  # what cannot be patched is refused before anything is asked
        spec = trial.plan.spec
    for plan in plans:
        patch(model, plan).undo()
    also = [Suspect(f"{plan.method} to {plan.context} tokens", plan) for plan in plans]
    server = Server(url, served_model, api_key_env)
    if server.length is not None and server.length - ANSWER < longest:
        longest = server.length - ANSWER
        if longest < _LEAST_TOKENS:
            raise Error(f"prompts of {longest} tokens are too short", "unsupported", "url")
    if progress is not None:
        progress(0, 0, f"{server.software} is asked for log probabilities")
    vocabulary = int(model.get_input_embeddings().weight.shape[0])
    said = list(statements(server, tokenizer, vocabulary, longest, texts, seed))
    search = Fingerprint(suspects(spec, server.length, also), said)
    training = [module for module in model.modules() if module.training]
    run = 0
    try:
        model.eval()
        while question := search.ask():
            plan, which = question
            if progress is not None:
                progress(run, search.alive, str(plan.method))
            with patch(model, plan):
                reader = Reader(model)
                search.tell(_log_p(reader, [said[one] for one in which]))
            run += 1
        return Probed(search.verdict(), server.software)
    finally:
        left = vars(model).get("_mrrope_patch")  # an interrupt may fall between a patch and its block
        if left is not None:
            left.undo()
        for module in training:
            module.training = True


def _log_p(reader: Reader, said: Sequence[Statement]) -> list[list[list[float]]]:
    """ln p of the rows of each statement. Stretches of one text are read in one pass: 12 calls of the model for a table
    instead of 64, and a third less of a processor's time on a small one."""
    found: list[list[list[float]]] = []
    while len(found) < len(said):
        stretches = [said[len(found)]]
        for longer in said[len(found) + 1 :]:
            before = stretches[-1]
            if longer.tokens[: len(before.tokens)] != before.tokens or longer.rows[0].at < before.rows[-1].at:
                break
            stretches.append(longer)
        rows = iter(reader.log_p(Statement(stretches[-1].tokens, [row for one in stretches for row in one.rows])))
        found += [[next(rows) for _ in one.rows] for one in stretches]
    return found

# SPDX-License-Identifier: MIT
"""A longer context for RoPE language models, without training.

    import mrrope

    plan = mrrope.plan("Llama-3-8B", "32k")              # a folder, a .gguf, a config, or Spec(dim=128, context=8192)
    plan.inv_freq, plan.attention_scale                  # what any engine needs
    mrrope.extend("Llama-3-8B", "32k")                   # into the file, for as many engines as one file can serve
    with mrrope.patch(model, plan): model.generate(...)  # a transformers model, while it runs
    mrrope.patch(model, mrrope.ladder(model.config, "32k"))  # the same, at no cost to short prompts
    mrrope.tune(model, tokenizer, "32k").plan            # the plan that measures best on it
    mrrope.probe("http://localhost:8000", model, tokenizer)  # the table that a running server really uses

Everything from outside that is wrong raises mrrope.Error. docs/python.md is the guide; help() of each name the manual.
"""

from . import analysis, probing, tuning
from ._core import (
    Band,
    BoundZeros,
    Change,
    Conversion,
    Difference,
    Effective,
    EffectiveGroup,
    Engine,
    Explanation,
    Exposure,
    Extension,
    Finding,
    KvCache,
    Ladder,
    Method,
    MethodInfo,
    Model,
    Parameter,
    Plan,
    PlanGroup,
    Rung,
    Service,
    Spec,
    SpecGroup,
    engines,
    methods,
)
from ._core import version as __version__
from .climbing import LadderPatch
from .errors import Error
from .files import diff, doctor, effective, extend, hf_overrides, inspect, undo
from .patching import Patch, patch
from .planning import ladder, plan, spec
from .probing import Probed, probe
from .tuning import Tuned, tune

__all__ = [
    "Band",
    "BoundZeros",
    "Change",
    "Conversion",
    "Difference",
    "Effective",
    "EffectiveGroup",
    "Engine",
    "Error",
    "Explanation",
    "Exposure",
    "Extension",
    "Finding",
    "KvCache",
    "Ladder",
    "LadderPatch",
    "Method",
    "MethodInfo",
    "Model",
    "Parameter",
    "Patch",
    "Plan",
    "PlanGroup",
    "Probed",
    "Rung",
    "Service",
    "Spec",
    "SpecGroup",
    "Tuned",
    "__version__",
    "analysis",
    "diff",
    "doctor",
    "effective",
    "engines",
    "extend",
    "hf_overrides",
    "inspect",
    "ladder",
    "methods",
    "patch",
    "plan",
    "probe",
    "probing",
    "spec",
    "tune",
    "tuning",
    "undo",
]

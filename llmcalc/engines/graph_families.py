"""What llama.cpp does its own way for families of models, beyond what their operations say.

Read off the converters and graphs of https://github.com/ggml-org/llama.cpp (build 11549).
"""

from __future__ import annotations

from llmcalc.blueprint.operations import Gather, Ledger, Matmul

SANDWICH = 4
"""Norms of a layer that has one on both sides of each part; GLM-4-0414 splits its projections."""


def fused(ledger: Ledger) -> bool:
    """Whether the family's files hold queries, keys and values as one matrix.

    Read off the converters of llama.cpp (conversion/ and MODEL_TENSORS of its gguf package).
    """
    operations = [one for section in ledger.sections for one in section.operations]
    named = {one.name: one for one in operations}
    q = named.get("q")
    biased = isinstance(q, Matmul) and q.bias is not None
    tables = sum(len(one.weights) for one in operations if isinstance(one, Gather))
    norms = sum(name.startswith("norm_") for name in named)
    dense = "gate" in named and "router" not in named
    return {
        "bloom": True, "mpt": True, "gpt": True, "gpt-neox": True, "pythia": True,
        "falcon": "gate" not in named and "up" in named, "starcoder": tables > 1,
        "phi": dense and not biased, "glm": dense and biased and norms < SANDWICH,
    }.get(ledger.family, False)  # fmt: skip


def attention_first(ledger: Ledger) -> bool:
    """Whether attention is projected before the feed-forward part beside it is computed."""
    return ledger.family == "phi"

"""How long does one iteration take? Its stretches follow each other."""

from __future__ import annotations

from llmcalc.formula import formula


@formula(
    "waves · (prefill + output · token)",
    source="vLLM runs as many sequences as the cache holds; each completion is `output` tokens",
    unit="seconds", basis="modelled",
)  # fmt: skip
def rollout_seconds(*, waves: int, prefill: float, output: int, token: float) -> float:
    """To read prompts and make completions, so many sequences of an engine at a time."""
    return waves * (prefill + output * token)


@formula(
    "epochs · (updates · (policy + critic) + reference)",
    source="optimizer steps on what one rollout made, and scores that are computed within them",
    unit="seconds", basis="modelled",
)  # fmt: skip
def train_seconds(
    *, epochs: int, updates: int, policy: float, critic: float, reference: float
) -> float:
    """To learn from what was made."""
    return epochs * (updates * (policy + critic) + reference)

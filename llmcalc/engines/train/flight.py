"""What is in flight? Micro-batches whose activations a pipeline stage holds at once."""

from __future__ import annotations

from llmcalc.engines.train.plan import Schedule
from llmcalc.formula import formula


@formula("min(p − stage, m)", source="1F1B: Narayanan et al., arXiv:2104.04473, section 2.2")
def one_forward_one_backward(*, p: int, stage: int, m: int) -> int:
    """Micro-batches in flight on a stage, the first being 0."""
    return min(p - stage, m)


@formula(
    "min(2 · (p − stage) − 1, m)",
    source="ZB-H2: Qi et al., arXiv:2401.10241, section 2: no bubble for twice the activations",
)
def without_bubble(*, p: int, stage: int, m: int) -> int:
    """Micro-batches in flight where the pipeline fills its bubble."""
    return min(2 * (p - stage) - 1, m)


@formula("min(p + 1, m)", source="DualPipe: DeepSeek-V3, arXiv:2412.19437, table 2")
def from_both_ends(*, p: int, m: int) -> int:
    """Micro-batches in flight on each stage, those of both directions together."""
    return min(p + 1, m)


@formula(
    "min((v − 1) · p + 2 · (p − stage − 1) + 1, m · v)",
    source="interleaved 1F1B: Megatron-LM schedules.py, warm-up micro-batches of a virtual stage",
)
def chunks(*, p: int, stage: int, v: int, m: int) -> int:
    """Pieces in flight, each one of `v` pieces of a stage for one micro-batch."""
    return min((v - 1) * p + 2 * (p - stage - 1) + 1, m * v)


def in_flight(schedule: Schedule, *, p: int, stage: int, v: int, m: int) -> float:
    """Micro-batches whose activations a stage holds at once, in whole stages."""
    if schedule == "gpipe":
        return float(m)
    if p == 1:
        return 1.0
    if schedule == "interleaved" and v > 1:
        return float(chunks(p=p, stage=stage, v=v, m=m)) / v
    if schedule == "dualpipe":
        return float(from_both_ends(p=p, m=m))
    if schedule == "zb-h2":
        return float(without_bubble(p=p, stage=stage, m=m))
    return float(one_forward_one_backward(p=p, stage=stage, m=m))

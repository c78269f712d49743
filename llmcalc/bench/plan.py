"""What is measured: sizes, batches and contexts, few or many."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.bench.effort import QUICK, THOROUGH, Effort

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of the bench."""

    effort: Effort
    quick: bool
    batches: Tokens
    """Tokens at once of decode steps, times every matrix."""
    prefill: Tokens
    """Tokens at once of a prefill, times the largest matrix."""
    shapes: int
    """Matrices that are measured, those with the largest share first."""
    contexts: Tokens
    """Tokens in the cache of decode attention."""
    steps: tuple[tuple[int, int], ...]
    """Batch and context of whole decode steps."""
    seconds: float | None
    """After which no further figure is begun; after half of it none is tried twice."""
    room: int
    """Bytes of weights that a decode step takes at most on a CPU, whose memory others need too."""


QUICKLY = Plan(
    effort=QUICK,
    quick=True,
    batches=(1, 8, 64),
    prefill=(512,),
    shapes=5,
    contexts=(1024, 4096),
    steps=((1, 1024),),
    seconds=40.0,
    room=3 * 2**30,
)
THOROUGHLY = Plan(
    effort=THOROUGH,
    quick=False,
    batches=(1, 2, 4, 8, 16, 32, 64),
    prefill=(128, 512, 2048),
    shapes=6,
    contexts=(1024, 4096, 16384, 65536),
    steps=((1, 1024), (1, 8192), (8, 1024)),
    seconds=None,
    room=8 * 2**30,
)

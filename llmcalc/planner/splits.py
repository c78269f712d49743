"""Ways to spread one model over several GPUs without being told how."""

from __future__ import annotations

from collections.abc import Iterator

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, tensor_splits

MOST_TENSOR_RANKS = 8
"""Beyond one node's links tensor parallelism costs more than it saves; ask for it with --tp."""


def splits(ledger: Ledger, gpus: int) -> Iterator[Parallel]:
    """Every split of up to `gpus` devices worth a look: tensor ranks, stages, replicas.

    The splits for n devices are among those for more: more devices never need more memory each.
    """
    for tp in tensor_splits(ledger, min(gpus, MOST_TENSOR_RANKS)):
        for pp in _stage_counts(min(gpus // tp, len(ledger.order))):
            yield Parallel(tp=tp, pp=pp, dp=gpus // (tp * pp))


def _stage_counts(most: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, … up to `most`."""
    power = 1
    while power <= most:
        yield power
        if power > 1 and power * 3 // 2 <= most:
            yield power * 3 // 2
        power *= 2

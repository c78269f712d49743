"""What one model of a run holds on one GPU, part by part."""

from __future__ import annotations

from dataclasses import dataclass, fields

from llmcalc.engines.train.passes import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Bytes of one role on one GPU at one time, by the names that training and inference use."""

    weights: int = 0
    gradients: int = 0
    master_weights: int = 0
    optimizer: int = 0
    activations: int = 0
    logits: int = 0
    buffers: int = 0
    kv_cache: int = 0
    state: int = 0
    runtime: int = 0

    @property
    def total(self) -> int:
        """All parts."""
        return sum(getattr(self, field.name) for field in fields(self))


NOTHING = Share()

PARTS = tuple(field.name for field in fields(Share))
TRAINED = PARTS[: PARTS.index("kv_cache")]


def at(moment: Moment) -> Share:
    """What a training step holds at one of its points."""
    return Share(**{name: getattr(moment, name) for name in TRAINED})

"""One line of the memory of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["weights", "kv_cache", "state", "activations", "runtime"]
Basis = Literal["exact", "modelled", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Bytes of one thing, how sure they are, and where a modelled one comes from."""

    name: str
    group: Group
    bytes: int
    basis: Basis
    source: str = ""
    error_p50: float | None = None
    """Of a modelled number: the median relative error on public measurements, if there are any."""
    error_p90: float | None = None
    """Nine in ten measurements are within this relative error."""

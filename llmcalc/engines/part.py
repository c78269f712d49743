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

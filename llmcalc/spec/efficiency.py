"""How much of a device's peaks an engine reaches: constants fitted on public measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from llmcalc.spec.limits import Alias, Bool, Length, Line, Name, Range, Word

Reached = Annotated[float, Range(0.001, 2)]
Latency = Annotated[float, Range(0, 10)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Which devices a class is about; what is left out, does not matter."""

    names: tuple[Name, ...] = ()
    starts: tuple[Name, ...] = ()
    """Starts of names."""
    vendors: tuple[Word, ...] = ()
    memory: tuple[Word, ...] = ()
    """Starts of the type of memory: HBM, GDDR, LPDDR."""
    architectures: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What an engine reaches on one class of devices."""

    devices: Devices = Devices()
    weights: Reached
    """Share of the bandwidth while weights are read."""
    experts: Reached | None = None
    """The same for weights of experts, where it differs."""
    cache: Reached
    """Share of the bandwidth while attention reads the cache."""
    cache_plain: Reached | None = None
    """The same without flash attention."""
    compute: Reached
    """Share of the peak rate in large products."""
    layer_seconds: Latency
    """Of each layer and step, whatever its size: launches and what they wait for."""
    step_seconds: Latency = 0.0
    """Of each step: sampling, scheduling."""
    n: Length | None = None
    """Rows that it was fitted on."""
    error_p50: Reached | None = None
    """Median relative error on those rows."""
    fitted: Bool = True
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """One engine's file: classes of devices, the first that applies."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    classes: tuple[Reach, ...]

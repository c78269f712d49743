"""How much of a device's peaks training reaches: constants fitted on public measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from llmcalc.spec.efficiency import Devices, Latency, Reached
from llmcalc.spec.limits import Alias, Amount, Length, Line, Name, Range

ALL = Devices()
Copies = Annotated[float, Range(0, 10_000)]
Billions = Annotated[float, Range(0, 1e6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReach:
    """What training reaches on one class of devices."""

    name: Name
    devices: Devices = ALL
    matmul: Reached
    """Share of the peak rate in products with dense weights."""
    experts: Reached
    """The same with weights of experts."""
    attention: Reached
    """Share of the peak rate in scores and weighted values, forward and backward."""
    link: Reached
    """Share of a link's bandwidth in exchanges of data ranks."""
    overlap: Annotated[float, Range(0, 1)]
    """Share of the computing time that such exchanges hide behind."""
    network_gb_s: Amount
    """Of one device's card to other nodes, where nothing is said."""
    n: Length | None = None
    error_p50: Reached | None = None
    """Median relative error of tokens a second on those rows."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMfu:
    """Model FLOPs utilisation in published runs of one class of devices and sizes."""

    devices: Name
    """Name of a class of devices."""
    above: Billions = 0.0
    """Parameters that a step multiplies by, billions: more than these."""
    up_to: Billions
    p10: Reached
    p50: Reached
    p90: Reached
    n: Length
    sources: Length
    """Publishers; one publisher's runs are alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """Steady GPU-hours over the GPU-hours that publishers report for whole runs."""

    devices: Name
    p10: Reached
    p50: Reached
    p90: Reached
    n: Length
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilisation:
    """One file: what all devices share, and classes of devices, the first that applies."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    n: Length | None = None
    error_p50: Reached | None = None
    """Median relative error of tokens a second on those rows."""
    error_p90: Reached | None = None
    left_out_p50: Reached | None = None
    """The same where each publisher's rows were left out of the search that foretells them."""
    left_out_p90: Reached | None = None
    element_copies: Copies
    """Bytes that norms, activations and residuals move for each layer, token and column of the
    residual stream, forward and backward."""
    logit_copies: Copies
    """The same for each token and word of the vocabulary."""
    layer_seconds: Latency
    """Of each pass through a layer, whatever its size."""
    tensor_link: Reached
    """Share of a link's bandwidth in exchanges of tensor, context and expert ranks, which
    computing waits for."""
    classes: tuple[TrainingReach, ...]
    published: tuple[PublishedMfu, ...] = ()
    whole_run: tuple[WholeRun, ...] = ()

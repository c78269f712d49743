"""How many FLOPs? Two per multiply-add; matmuls and attention, as torch's FlopCounterMode does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcalc.blueprint.operations import (
    AttentionProduct,
    Convolution,
    GroupedMatmul,
    Ledger,
    Matmul,
    Operation,
    Scan,
    Section,
)
from llmcalc.engines.workload import Workload, pairs
from llmcalc.formula import Step, about, formula, is_recording, record, record_sum, symbol

Count = Literal["causal", "full"]
"""Half of a causal product, or all of it as torch counts."""

MATMUL_TRAIN, ATTENTION_TRAIN, ATTENTION_MODEL = 3, 3.5, 3
"""Forward and backward over forward: a matmul's two gradients; flash attention's backward computes
its scores again, five products to the forward's two (arXiv:2307.08691, section 3.1); model FLOPs
leave that out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flops:
    """FLOPs of one step, all layers and sequences."""

    matmul: int
    attention: int
    model_attention: int
    """Attention without what flash attention computes twice; differs in training only."""
    other: int = 0
    """Convolutions and recurrences."""
    by_component: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """What the device computes."""
        return self.matmul + self.attention + self.other

    @property
    def model(self) -> int:
        """What the model needs, the numerator of MFU."""
        return self.matmul + self.model_attention + self.other


@formula(
    "2 · t · d_in · d_out · layers",
    source="a multiply and an add for each element of the weight and each token",
    unit="FLOP",
)
def matmul_flops(*, t: int, d_in: int, d_out: int, layers: int) -> int:
    """Of t tokens times a [d_out, d_in] weight in each of so many layers."""
    return 2 * t * d_in * d_out * layers


@formula(
    "2 · t · k · d_in · d_out · layers",
    source="each token visits k experts (arXiv:2101.03961)",
    unit="FLOP",
)
def grouped_matmul_flops(*, t: int, k: int, d_in: int, d_out: int, layers: int) -> int:
    """Of t tokens times the weights of k experts each, in each of so many layers."""
    return 2 * t * k * d_in * d_out * layers


@formula(
    "2 · b · h · (d_qk + d_v) · pairs · layers",
    source="q·k and p·v for each query-key pair and head",
    unit="FLOP",
)
def attention_flops(*, b: int, h: int, d_qk: int, d_v: int, pairs: int, layers: int) -> int:
    """Of scores and weighted values of b sequences in each of so many layers."""
    return 2 * b * h * (d_qk + d_v) * pairs * layers


@formula("2 · t · channels · kernel · layers", source="each channel by itself", unit="FLOP")
def convolution_flops(*, t: int, channels: int, kernel: int, layers: int) -> int:
    """Of t tokens through a short causal convolution in each of so many layers."""
    return 2 * t * channels * kernel * layers


@formula(
    "2 · t · macs · layers",
    source="the state is written with outer products and read with matrix-vector products",
    unit="FLOP",
)
def scan_flops(*, t: int, macs: int, layers: int) -> int:
    """Of t tokens through a recurrence in each of so many layers."""
    return 2 * t * macs * layers


@formula("factor · N · tokens", source="Kaplan et al., arXiv:2001.08361, table 1", unit="FLOP")
def rule_of_thumb(*, factor: int, N: int, tokens: int) -> int:  # noqa: N803  the field's symbol
    """2N a token forward, 6N forward and backward, N the active parameters."""
    return factor * N * tokens


def count(ledger: Ledger, workload: Workload, mask: Count = "causal") -> Flops:
    """FLOPs of one forward, or of forward and backward for the `train` phase."""
    sums = Sums()
    for section in ledger.sections:
        for operation in section.operations:
            with about(symbol(section.name, operation.name)):
                sums.add(operation, section, workload, whole=mask == "full")
    found = _phased(sums, workload)
    _explain(sums, found)
    return found


@dataclass(slots=True)
class Sums:
    """Running FLOPs of a forward: matmuls by component, attention and the rest by operation."""

    matmul: dict[str, int] = field(default_factory=dict)
    attention: dict[str, int] = field(default_factory=dict)
    other: dict[str, int] = field(default_factory=dict)

    def add(
        self, operation: Operation, section: Section, workload: Workload, *, whole: bool
    ) -> None:
        """Count one operation of a section, all its layers."""
        name, layers = symbol(section.name, operation.name), section.times
        tokens = workload.of(getattr(operation, "stream", None) or section.stream)
        if isinstance(operation, AttentionProduct):
            seen = pairs(workload, operation.mask, section.stream, operation.window, whole=whole)
            _grow(self.attention, name, attention_flops(
                b=workload.batch, h=operation.heads, d_qk=operation.qk_dim, d_v=operation.v_dim,
                pairs=seen, layers=layers,
            ))  # fmt: skip
        elif isinstance(operation, (Matmul, GroupedMatmul)):
            component = operation.weight.component
            _grow(self.matmul, component, _product(operation, tokens, layers))
        elif isinstance(operation, Convolution):
            channels, kernel = operation.weight.shape
            flops = convolution_flops(t=tokens, channels=channels, kernel=kernel, layers=layers)
            _grow(self.other, name, flops)
        elif isinstance(operation, Scan):
            _grow(self.other, name, scan_flops(t=tokens, macs=operation.macs, layers=layers))


def _grow(sums: dict[str, int], name: str, flops: int) -> None:
    sums[name] = sums.get(name, 0) + flops


def _product(operation: Matmul | GroupedMatmul, tokens: int, layers: int) -> int:
    d_out, d_in = operation.weight.shape[-2:]
    flops: int
    if isinstance(operation, GroupedMatmul):
        k = operation.top_k
        flops = grouped_matmul_flops(t=tokens, k=k, d_in=d_in, d_out=d_out, layers=layers)
    else:
        flops = matmul_flops(t=tokens, d_in=d_in, d_out=d_out, layers=layers)
    return flops


def _explain(sums: Sums, found: Flops) -> None:
    """Record how layers add up to a forward, and a forward to the phase."""
    if not is_recording():
        return
    parts: dict[str, int | float] = {}
    for name, terms in (("matmul", sums.matmul), ("attention", sums.attention)):
        record_sum(name, terms, "FLOP")
        parts[name] = sum(terms.values())
    if sums.other:
        record_sum("other", sums.other, "FLOP")
        parts["other"] = sum(sums.other.values())
    trained = found.matmul != parts["matmul"]
    factors = {"matmul": "3 · ", "attention": "7 / 2 · ", "other": "3 · "}
    text = " + ".join(f"{factors[name] if trained else ''}{name}" for name in parts)
    source = "two products backward a matmul, five to flash attention's two (arXiv:2307.08691)"
    record(
        Step(
            name="total", text=text, values=parts, result=found.total, unit="FLOP",
            source=source if trained else "",
        )
    )  # fmt: skip


def _phased(sums: Sums, workload: Workload) -> Flops:
    attention, other = sum(sums.attention.values()), sum(sums.other.values())
    if workload.phase != "train":
        return Flops(
            matmul=sum(sums.matmul.values()),
            attention=attention,
            model_attention=attention,
            other=other,
            by_component=sums.matmul,
        )
    trained = {component: MATMUL_TRAIN * flops for component, flops in sums.matmul.items()}
    return Flops(
        matmul=sum(trained.values()),
        attention=attention * 7 // 2,
        model_attention=ATTENTION_MODEL * attention,
        other=MATMUL_TRAIN * other,
        by_component=trained,
    )

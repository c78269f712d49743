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
from llmcalc.engines.workload import Counted, Workload, pairs
from llmcalc.formula import Step, about, formula, is_recording, record, record_sum, symbol

Group = Literal["matmul", "attention", "other"]

TWICE, FLASH, SCORES, AGAIN, NOT = (3, 1), (7, 2), (4, 1), (4, 1), (1, 1)
"""Forward and backward over forward, as a fraction: two gradients for most; flash attention's
backward computes its scores again, five products to the forward's two (arXiv:2307.08691, section
3.1), three of them as wide as keys and two as wide as values; a scan computes its states again
before its two gradients; nothing where the loss does not flow back."""

NAMES = {
    ("matmul", TWICE): "matmul",
    ("matmul", NOT): "matmul_forward_only",
    ("attention", FLASH): "attention",
    ("attention", SCORES): "attention_scores",
    ("attention", TWICE): "attention_plain",
    ("attention", NOT): "attention_forward_only",
    ("other", TWICE): "convolutions",
    ("other", AGAIN): "scans",
}
"""What a worked solution calls each sum; plain attention keeps scores, or is the values' half."""


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


def count(ledger: Ledger, workload: Workload, counted: Counted = "causal") -> Flops:
    """FLOPs of one forward, or of forward and backward for the `train` phase."""
    sums: Sums = {}
    for section in ledger.sections:
        for operation in section.operations:
            with about(symbol(section.name, operation.name)):
                _add(sums, operation, section, workload, counted)
    trained = workload.phase == "train"
    found = Flops(
        matmul=_group(sums, "matmul", trained=trained),
        attention=_group(sums, "attention", trained=trained),
        model_attention=_model_attention(sums, trained=trained),
        other=_group(sums, "other", trained=trained),
        by_component=_by_component(sums, trained=trained),
    )
    _explain(sums, found, trained=trained)
    return found


Sums = dict[tuple[Group, tuple[int, int]], dict[str, int]]
"""FLOPs of a forward by group and backward factor: of matmuls by component, else by operation."""


def _add(
    sums: Sums, operation: Operation, section: Section, workload: Workload, counted: Counted
) -> None:
    """Count one operation of a section, all its layers."""
    name, layers = symbol(section.name, operation.name), section.times
    tokens = workload.of(getattr(operation, "stream", None) or section.stream)
    if isinstance(operation, AttentionProduct):
        seen = pairs(workload, operation.mask, section.stream, operation.window, counted)
        for factor, half, d_qk, d_v in _products(operation):
            with about(f"{name}{half}"):
                flops = attention_flops(
                    b=workload.batch, h=operation.heads, d_qk=d_qk, d_v=d_v, pairs=seen,
                    layers=layers,
                )  # fmt: skip
            _grow(sums, "attention", factor, f"{name}{half}", flops)
    elif isinstance(operation, (Matmul, GroupedMatmul)):
        flops = _product(operation, tokens, layers)
        factor = TWICE if getattr(operation, "backward", True) else NOT
        _grow(sums, "matmul", factor, operation.weight.component, flops)
    elif isinstance(operation, Convolution):
        channels, kernel = operation.weight.shape
        flops = convolution_flops(t=tokens, channels=channels, kernel=kernel, layers=layers)
        _grow(sums, "other", TWICE, name, flops)
    elif isinstance(operation, Scan):
        flops = scan_flops(t=tokens, macs=operation.macs, layers=layers)
        _grow(sums, "other", AGAIN, name, flops)


def _products(operation: AttentionProduct) -> list[tuple[tuple[int, int], str, int, int]]:
    """Backward factor, name and widths: of both products at once, or each where widths differ."""
    d_qk, d_v = operation.qk_dim, operation.v_dim
    if operation.backward and operation.flash and d_qk != d_v:
        return [(SCORES, "_scores", d_qk, 0), (TWICE, "_values", 0, d_v)]
    learned = FLASH if operation.flash else TWICE
    return [(learned if operation.backward else NOT, "", d_qk, d_v)]


def _grow(sums: Sums, group: Group, factor: tuple[int, int], name: str, flops: int) -> None:
    terms = sums.setdefault((group, factor), {})
    terms[name] = terms.get(name, 0) + flops


def _group(sums: Sums, group: Group, *, trained: bool) -> int:
    """All of one group, its backward included in training."""
    return sum(
        sum(terms.values()) * up // down if trained else sum(terms.values())
        for (of, (up, down)), terms in sums.items()
        if of == group
    )


def _model_attention(sums: Sums, *, trained: bool) -> int:
    """Attention with twice its forward for the backward, whatever kernel computes it."""
    return sum(
        sum(terms.values()) * (3 if trained and factor != NOT else 1)
        for (of, factor), terms in sums.items()
        if of == "attention"
    )


def _by_component(sums: Sums, *, trained: bool) -> dict[str, int]:
    found: dict[str, int] = {}
    for (of, (up, down)), terms in sums.items():
        for name, flops in terms.items() if of == "matmul" else ():
            found[name] = found.get(name, 0) + (flops * up // down if trained else flops)
    return found


def _product(operation: Matmul | GroupedMatmul, tokens: int, layers: int) -> int:
    d_out, d_in = operation.weight.shape[-2:]
    flops: int
    if isinstance(operation, GroupedMatmul):
        k = operation.top_k
        flops = grouped_matmul_flops(t=tokens, k=k, d_in=d_in, d_out=d_out, layers=layers)
    else:
        flops = matmul_flops(t=tokens, d_in=d_in, d_out=d_out, layers=layers)
    return flops


def _explain(sums: Sums, found: Flops, *, trained: bool) -> None:
    """Record how layers add up to a forward, and a forward to the phase."""
    if not is_recording():
        return
    values: dict[str, int | float] = {}
    terms = []
    for (group, (up, down)), parts in sorted(sums.items(), reverse=True):
        name = NAMES[group, (up, down)]
        record_sum(name, parts, "FLOP")
        values[name] = sum(parts.values())
        factor = f"{up} · " if down == 1 else f"{up} / {down} · "
        terms.append(f"{factor}{name}" if trained and up != down else name)
    source = "two products backward a matmul, five to flash attention's two (arXiv:2307.08691)"
    record(
        Step(
            name="total", text=" + ".join(terms), values=values, result=found.total, unit="FLOP",
            source=source if trained else "",
        )
    )  # fmt: skip

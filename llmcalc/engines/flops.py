"""How many FLOPs? Two per multiply-add; matmuls and attention, as torch's FlopCounterMode does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcalc.blueprint.operations import AttentionProduct, GroupedMatmul, Ledger, Matmul
from llmcalc.engines.workload import Workload, causal_pairs, full_pairs
from llmcalc.formula import Step, about, formula, is_recording, record, record_sum, symbol

Mask = Literal["causal", "full"]

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
    by_component: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """What the device computes."""
        return self.matmul + self.attention

    @property
    def model(self) -> int:
        """What the model needs, the numerator of MFU."""
        return self.matmul + self.model_attention


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


@formula("factor · N · tokens", source="Kaplan et al., arXiv:2001.08361, table 1", unit="FLOP")
def rule_of_thumb(*, factor: int, N: int, tokens: int) -> int:  # noqa: N803  the field's symbol
    """2N a token forward, 6N forward and backward, N the active parameters."""
    return factor * N * tokens


def count(ledger: Ledger, workload: Workload, mask: Mask = "causal") -> Flops:
    """FLOPs of one forward, or of forward and backward for the `train` phase."""
    pairs = causal_pairs if mask == "causal" else full_pairs
    by_component: dict[str, int] = {}
    attention: dict[str, int] = {}
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, AttentionProduct):
                subject = symbol(section.name, operation.name)
                with about(subject):
                    attention[subject] = attention.get(subject, 0) + attention_flops(
                        b=workload.batch, h=operation.heads, d_qk=operation.qk_dim,
                        d_v=operation.v_dim, pairs=pairs(workload, operation.window),
                        layers=section.times,
                    )  # fmt: skip
            elif isinstance(operation, (Matmul, GroupedMatmul)):
                component = operation.weight.component
                with about(symbol(section.name, operation.name)):
                    flops = _product(operation, workload.tokens, section.times)
                by_component[component] = by_component.get(component, 0) + flops
    found = _phased(by_component, sum(attention.values()), workload)
    _explain(by_component, attention, found)
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


def _explain(by_component: dict[str, int], attention: dict[str, int], found: Flops) -> None:
    """Record how layers add up to a forward, and a forward to the phase."""
    if not is_recording():
        return
    record_sum("matmul", by_component, "FLOP")
    record_sum("attention", attention, "FLOP")
    matmul, products = sum(by_component.values()), sum(attention.values())
    trained = found.matmul != matmul
    source = "two products backward a matmul, five to flash attention's two (arXiv:2307.08691)"
    record(
        Step(
            name="total",
            text="3 · matmul + 7 / 2 · attention" if trained else "matmul + attention",
            values={"matmul": matmul, "attention": products},
            result=found.total,
            unit="FLOP",
            source=source if trained else "",
        )
    )


def _phased(by_component: dict[str, int], attention: int, workload: Workload) -> Flops:
    if workload.phase != "train":
        return Flops(
            matmul=sum(by_component.values()),
            attention=attention,
            model_attention=attention,
            by_component=by_component,
        )
    trained = {component: MATMUL_TRAIN * flops for component, flops in by_component.items()}
    return Flops(
        matmul=sum(trained.values()),
        attention=attention * 7 // 2,
        model_attention=ATTENTION_MODEL * attention,
        by_component=trained,
    )

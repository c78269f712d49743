"""How many FLOPs? Two per multiply-add; matmuls and attention, as torch's FlopCounterMode does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcalc.blueprint.operations import AttentionProduct, GroupedMatmul, Ledger, Matmul
from llmcalc.engines.workload import Workload, causal_pairs, full_pairs
from llmcalc.formula import Step, formula, is_recording, record, record_sum

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
    "2 · t · d_in · d_out",
    source="a multiply and an add for each element of the weight and each token",
    unit="FLOP",
)
def matmul_flops(*, t: int, d_in: int, d_out: int) -> int:
    """T tokens times a [d_out, d_in] weight."""
    return 2 * t * d_in * d_out


@formula(
    "2 · t · k · d_in · d_out", source="each token visits k experts (arXiv:2101.03961)", unit="FLOP"
)
def grouped_matmul_flops(*, t: int, k: int, d_in: int, d_out: int) -> int:
    """T tokens times the weights of k experts each."""
    return 2 * t * k * d_in * d_out


@formula(
    "2 · b · h · (d_qk + d_v) · pairs",
    source="q·k and p·v for each query-key pair and head",
    unit="FLOP",
)
def attention_flops(*, b: int, h: int, d_qk: int, d_v: int, pairs: int) -> int:
    """Scores and weighted values of b sequences."""
    return 2 * b * h * (d_qk + d_v) * pairs


@formula("factor · N · tokens", source="Kaplan et al., arXiv:2001.08361, table 1", unit="FLOP")
def rule_of_thumb(*, factor: int, N: int, tokens: int) -> int:  # noqa: N803  the field's symbol
    """2N a token forward, 6N forward and backward, N the active parameters."""
    return factor * N * tokens


def count(ledger: Ledger, workload: Workload, mask: Mask = "causal") -> Flops:
    """FLOPs of one forward, or of forward and backward for the `train` phase."""
    pairs = causal_pairs if mask == "causal" else full_pairs
    by_component: dict[str, int] = {}
    attention = 0
    products: list[tuple[int, int]] = []
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, AttentionProduct):
                one = attention_flops(
                    b=workload.batch, h=operation.heads, d_qk=operation.qk_dim, d_v=operation.v_dim,
                    pairs=pairs(workload, operation.window),
                )  # fmt: skip
                attention += section.times * one
                products.append((section.times, one))
            elif isinstance(operation, (Matmul, GroupedMatmul)):
                component = operation.weight.component
                flops = section.times * _product(operation, workload.tokens)
                by_component[component] = by_component.get(component, 0) + flops
    found = _phased(by_component, attention, workload)
    _explain(by_component, products, attention, found)
    return found


def _product(operation: Matmul | GroupedMatmul, tokens: int) -> int:
    d_out, d_in = operation.weight.shape[-2:]
    if isinstance(operation, GroupedMatmul):
        grouped: int = grouped_matmul_flops(t=tokens, k=operation.top_k, d_in=d_in, d_out=d_out)
        return grouped
    single: int = matmul_flops(t=tokens, d_in=d_in, d_out=d_out)
    return single


def _explain(
    by_component: dict[str, int], products: list[tuple[int, int]], attention: int, found: Flops
) -> None:
    """Record the steps from one layer to all of them, and from a forward to the phase."""
    if not is_recording():
        return
    record_sum("forward matmul", by_component, "FLOP")
    values: dict[str, int | float] = {}
    for number, (times, one) in enumerate(products, start=1):
        values |= {f"layers_{number}": times, f"a_{number}": one}
    text = " + ".join(f"layers_{number} · a_{number}" for number in range(1, len(products) + 1))
    if products:
        _record(
            "forward attention", text, values, attention, "each kind of layer, times its layers"
        )
    matmul = sum(by_component.values())
    parts: dict[str, int | float] = {"matmul": matmul, "attention": attention}
    if found.matmul == matmul:
        _record("total", "matmul + attention", parts, found.total, "")
    else:
        source = "two products backward a matmul, five to flash attention's two (arXiv:2307.08691)"
        _record("total", "3 · matmul + 7 / 2 · attention", parts, found.total, source)


def _record(name: str, text: str, values: dict[str, int | float], result: int, source: str) -> None:
    record(Step(name=name, text=text, values=values, result=result, unit="FLOP", source=source))


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
        attention=int(attention * 7 // 2),
        model_attention=ATTENTION_MODEL * attention,
        by_component=trained,
    )

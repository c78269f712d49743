"""What one step of a rank reads and computes: bytes and FLOPs, group by group.

A step is one forward pass: of a chunk of prompts, or of one new token of each sequence. Groups are
those of the memory table; the products of one group have the same intensity, so that each is bound
by memory or by compute as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Section, State
from llmcalc.engines import flops, kv, weights
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.workload import Workload
from llmcalc.formula import quietly
from llmcalc.spec.quantization import Quantization


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Weights that are read once for all tokens of a step, and what they compute."""

    name: str
    bytes: int
    flops: int
    experts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One step of one rank."""

    products: tuple[Product, ...]
    cache_bytes: int
    """Keys, values and latents that attention reads, states read and written."""
    attention_flops: int
    layers: int
    tokens: int
    resident: int
    """Bytes of all weights that the step could read: the floor counts each once."""
    exchanges: int
    """Sums over tensor ranks: each `exchanged` bytes."""
    exchanged: int
    routed: int = 0
    """Bytes that tokens carry to experts on other ranks, there and back."""

    @property
    def flops(self) -> int:
        """All of the step."""
        return sum(one.flops for one in self.products) + self.attention_flops


def visited_share(*, k: int, E: int, tokens: int) -> float:  # noqa: N803  the field's symbol
    """Expected share of the experts that at least one of so many tokens visits.

    1 - (1 - k / E) ** tokens: a token picks k of E as if at random, which balanced routers come
    close to.
    """
    return float(1 - (1 - k / E) ** tokens)


def work(
    rank: Ledger,
    *,
    format: Quantization,
    formats: KvFormats,
    workload: Workload,
    tensor_ranks: int = 1,
    expert_ranks: int = 1,
) -> Work:
    """The work of one rank in one step.

    `rank` is lowered as the engine computes latent attention: absorbed in decoding.
    """
    with quietly():
        held = weights.by_group(rank, format)
        sums = flops.count(rank, workload)
    share, computed = _products(rank, workload)
    held.pop("vision tower", None)  # an image is computed once, not in each step
    tied = "head" not in held
    read = {name: size for name, size in held.items() if name != "embedding" or tied}
    products = tuple(
        Product(
            name=name, bytes=int(size * share.get(name, 1.0)),
            flops=computed.get("head" if name == "embedding" else name, 0),
            experts=name == "experts",
        )
        for name, size in read.items()
    )  # fmt: skip
    width = rank.hidden_size * 2
    return Work(
        products=products,
        cache_bytes=_cache(rank, formats, workload),
        attention_flops=sums.attention + sums.other,
        layers=len(rank.order),
        tokens=workload.tokens,
        resident=sum(int(size * share.get(name, 1.0)) for name, size in held.items()),
        exchanges=_exchanges(rank) if tensor_ranks > 1 else 0,
        exchanged=workload.tokens * width,
        routed=_routed(rank, workload) if expert_ranks > 1 else 0,
    )


def _products(rank: Ledger, workload: Workload) -> tuple[dict[str, float], dict[str, int]]:
    """Share of each group's weights that is read, and FLOPs of each group."""
    shares: dict[str, list[float]] = {}
    sums: dict[str, int] = {}
    for section in rank.sections:
        tokens = workload.of(section.stream) if section.kind != "last" else workload.batch
        for operation in section.operations:
            if isinstance(operation, Matmul):
                name = _group(section, operation)
                seen = tokens if operation.stream is None else workload.of(operation.stream)
                done = 2 * operation.weight.numel * seen
            elif isinstance(operation, GroupedMatmul):
                name, seen = "experts", tokens
                done = 2 * operation.weight.numel * seen * operation.top_k // operation.experts
                visited: float = visited_share(
                    k=operation.top_k, E=operation.experts, tokens=max(1, seen)
                )
                shares.setdefault(name, []).append(visited)
            else:
                continue
            sums[name] = sums.get(name, 0) + done * section.times
    return {name: sum(found) / len(found) for name, found in shares.items()}, sums


def _group(section: Section, operation: Matmul) -> str:
    component = section.component or operation.weight.component
    return weights.GROUPS.get(component, "other weights")


def _cache(rank: Ledger, formats: KvFormats, workload: Workload) -> int:
    """Bytes of the cache that a step reads; a state is read and written."""
    profile = kv.profile(rank, formats)
    seen = workload.batch * profile.sequence(workload.context)
    state = sum(
        operation.elements * section.times
        for section in rank.sections
        for operation in section.operations
        if isinstance(operation, State)
    )
    return seen + 2 * workload.batch * state * kv.STATE_BYTES


def _exchanges(rank: Ledger) -> int:
    """Sums over tensor ranks in one step: one where each part goes back to the residual stream."""
    return sum(
        section.times
        for section in rank.sections
        for operation in section.operations
        if section.kind == "layer"
        and (
            (isinstance(operation, Matmul) and operation.to_residual)
            or (isinstance(operation, GroupedMatmul) and operation.name.endswith("down"))
        )
    )


def _routed(rank: Ledger, workload: Workload) -> int:
    """Bytes that tokens carry to their experts and back, 16 bits each."""
    return sum(
        2 * 2 * workload.tokens * operation.top_k * rank.hidden_size * section.times
        for section in rank.sections
        for operation in section.operations
        if isinstance(operation, GroupedMatmul) and operation.name.endswith("down")
    )

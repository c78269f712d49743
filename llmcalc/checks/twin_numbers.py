"""Every quantity as the twin has it: modules on meta, one of each kind, times its layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llmcalc.checks import counters
from llmcalc.checks.layers import Layer, beside, ends, layers
from llmcalc.checks.quantities import LORA_RANK, Quantities, Sizes
from llmcalc.spec.card import ModelCard
from llmcalc.twin.attention import AttentionTwin
from llmcalc.twin.fused import fuse
from llmcalc.twin.latent_attention import LatentAttentionTwin
from llmcalc.twin.model import EndsTwin


def measured(card: ModelCard, sizes: Sizes) -> Quantities:
    """All quantities of a card at these sizes."""
    kinds = list(layers(card, batch=sizes.batch, tokens=sizes.tokens, kernel="sdpa"))
    outside = ends(card)
    others = list(beside(card))
    total = counters.parameters(outside)
    total += sum(one.times * counters.parameters(one.module) for one in kinds)
    total += sum(times * counters.parameters(module) for _, times, module in others)
    kept_by_ends = _kept_by_ends(card, outside, sizes)
    fused = list(layers(card, batch=sizes.batch, tokens=sizes.tokens, kernel="fused"))
    fuse(outside)
    fused_ends = _kept_by_ends(card, outside, sizes)
    return Quantities(
        params=total,
        buffers=sum(one.times * counters.buffers(one.module) for one in kinds)
        + sum(times * counters.buffers(module) for _, times, module in others),
        flops_prefill=_summed(kinds, _prefill) + _head(card, outside, sizes, sizes.tokens),
        flops_decode=_summed(kinds, _decode)
        + (_head(card, outside, sizes, 1) if card.causal else 0),
        flops_train=_summed(kinds, _train) + _head(card, outside, sizes, sizes.tokens, train=True),
        memory_bytes=_summed(kinds, _remembered),
        adam_elements=2 * total,
        lora_attention=_summed(kinds, _lora),
        kept_sdpa=_summed(kinds, _kept) + kept_by_ends,
        kept_eager=_kept_eagerly(card, sizes) + kept_by_ends,
        kept_fused=_summed(fused, _kept) + fused_ends,
        kept_frozen=_kept_frozen(card, sizes),
        kept_checkpointed=_summed(kinds, _kept_checkpointed),
    )


def _kept_eagerly(card: ModelCard, sizes: Sizes) -> int:
    kinds = layers(card, batch=sizes.batch, tokens=sizes.tokens, kernel="eager")
    return _summed(list(kinds), _kept)


def _kept_frozen(card: ModelCard, sizes: Sizes) -> int:
    """As `sdpa`, with gradients for activations alone, as below adapters of an earlier layer."""
    kinds = list(layers(card, batch=sizes.batch, tokens=sizes.tokens, kernel="sdpa"))
    outside = ends(card)
    for module in (outside, *(one.module for one in kinds)):
        module.requires_grad_(requires_grad=False)
    return _summed(kinds, _kept) + _kept_by_ends(card, outside, sizes)


def _kept(layer: Layer) -> int:
    """Bytes saved by one layer, without what other layers have saved already."""
    run = layer.prepared()
    shared = [one for both in (*run.rotations.values(), *run.latest.values()) for one in both]
    if run.encoded is not None:
        shared.append(run.encoded)
    x = layer.input(grad=True)
    return counters.kept(lambda: layer.module(x, run), [*_stored(layer.module), *shared])


def _kept_checkpointed(layer: Layer) -> int:
    """Bytes saved by a layer that is computed again in the backward pass."""
    x, run = layer.input(grad=True), layer.run()

    def call() -> object:
        return checkpoint(layer.module, x, run, use_reentrant=True, preserve_rng_state=False)

    return counters.kept(call, _stored(layer.module))


def _kept_by_ends(card: ModelCard, outside: EndsTwin, sizes: Sizes) -> int:
    ids = torch.empty(sizes.batch, sizes.tokens, dtype=torch.long, device="meta")
    positions = torch.arange(sizes.tokens, device="meta")
    x = torch.empty(
        sizes.batch, sizes.tokens, card.hidden_size, device="meta", dtype=torch.bfloat16,
        requires_grad=True,
    )  # fmt: skip
    apart = _stored(outside)
    first = counters.kept(lambda: outside.embedded(ids, positions), apart)
    return first + counters.kept(lambda: outside.predicted(x), apart)


def _stored(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]


def _summed(kinds: list[Layer], number: Callable[[Layer], int]) -> int:
    return sum(one.times * number(one) for one in kinds)


def _prefill(layer: Layer) -> int:
    return counters.flops(lambda: layer.module(layer.input(), layer.run()))


def _decode(layer: Layer) -> int:
    """One token after all others but one; an encoder has nothing left to do or nothing to say."""
    if not layer.causal:
        return 0
    before = layer.tokens - 1
    memory: dict[int, Any] = {}
    layer.module(layer.input(before), layer.run(0, before, memory))
    run = layer.run(before, 1, memory)
    return counters.flops(lambda: layer.module(layer.input(1), run))


def _train(layer: Layer) -> int:
    def step() -> None:
        out = layer.module(layer.input(grad=True), layer.run())
        out.backward(torch.empty_like(out))

    return counters.flops(step)


def _head(
    card: ModelCard, outside: EndsTwin, sizes: Sizes, tokens: int, *, train: bool = False
) -> int:
    """Projections in and out, and the head at every new position."""
    ids = torch.empty(sizes.batch, tokens, dtype=torch.long, device="meta")
    x = torch.empty(
        sizes.batch, tokens, card.hidden_size, device="meta", dtype=torch.bfloat16,
        requires_grad=train,
    )  # fmt: skip

    def step() -> None:
        first = outside.embedded(ids, torch.arange(tokens, device="meta"))
        last = outside.predicted(x)
        if train:
            first.backward(torch.empty_like(first))
            last.backward(torch.empty_like(last))

    return counters.flops(step)


def _remembered(layer: Layer) -> int:
    """Bytes that a layer remembers of all tokens."""
    memory: dict[int, Any] = {}
    if layer.causal:
        layer.module(layer.input(), layer.run(memory=memory))
    return sum(one.numel() * one.element_size() for one in counters.remembered(memory))


def _lora(layer: Layer) -> int:
    """Numbers of two factors of rank r for each projection of softmax attention."""
    found = 0
    for module in layer.module.modules():
        if isinstance(module, (AttentionTwin, LatentAttentionTwin)):
            idle = getattr(module.part, "kv_reuse", False)
            for name in ("q_proj", "o_proj") if idle else ("q_proj", "k_proj", "v_proj", "o_proj"):
                linear = getattr(module, name, None)
                if linear is not None:
                    found += LORA_RANK * (linear.in_features + linear.out_features)
    return found

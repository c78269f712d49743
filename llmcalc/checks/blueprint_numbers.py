"""Every quantity as the blueprint and the engines have it."""

from __future__ import annotations

from llmcalc.blueprint import lower
from llmcalc.blueprint.keeping.tensor import FROZEN
from llmcalc.blueprint.operations import Ledger, Matmul
from llmcalc.checks.quantities import LORA_RANK, Quantities, Sizes
from llmcalc.engines import flops, kept, kv, params
from llmcalc.engines.workload import Phase, Workload
from llmcalc.spec.card import ModelCard


def computed(card: ModelCard, sizes: Sizes) -> Quantities:
    """All quantities of a card at these sizes."""
    ledger = lower(card)
    count = params.count(ledger)
    training, step = lower(card, training=True), _workload(card, sizes, "train")
    return Quantities(
        params=count.total,
        buffers=count.buffers,
        flops_prefill=_flops(card, ledger, sizes, "prefill"),
        flops_decode=_flops(card, lower(card, absorbed=True), sizes, "decode")
        if card.causal
        else 0,
        flops_train=_flops(card, ledger, sizes, "train"),
        memory_bytes=sizes.batch * kv.profile(ledger).held(sizes.tokens),
        adam_elements=2 * count.total,
        lora_attention=_lora(ledger),
        kept_sdpa=kept.saved(training, step, "sdpa"),
        kept_eager=kept.saved(training, step, "eager"),
        kept_fused=kept.saved(training, step, "fused"),
        kept_frozen=kept.saved(training, step, "sdpa", FROZEN),
        kept_checkpointed=kept.checkpointed(ledger, step),
    )


def _workload(card: ModelCard, sizes: Sizes, phase: Phase) -> Workload:
    encoder = (card.encoder.length or sizes.tokens) if card.encoder else 0
    query = 1 if phase == "decode" else sizes.tokens
    return Workload(
        phase=phase, batch=sizes.batch, query=query, context=sizes.tokens, encoder=encoder
    )


def _flops(card: ModelCard, ledger: Ledger, sizes: Sizes, phase: Phase) -> int:
    return flops.count(ledger, _workload(card, sizes, phase), "full").total


def _lora(ledger: Ledger) -> int:
    """Two factors of rank r for each projection named q, k, v or o of [d_out, d_in]."""
    return sum(
        section.times * LORA_RANK * sum(operation.weight.shape)
        for section in ledger.sections
        if section.stream != "tower"
        for operation in section.operations
        if isinstance(operation, Matmul)
        and operation.weight.component == "attention"
        and operation.name in {"q", "k", "v", "o"}
    )

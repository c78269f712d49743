"""What a difference may come from, in words: by which numbers differ and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from llmcalc.checks.corrections import Correction
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import layer_names

DEFECT = "both witnesses read the same card, so this is a defect of llmcalc: please report it"

BY_QUANTITY: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"mtp"}), "mtp: layers, block, own_embedding or own_head"),
    (frozenset({"buffers"}), "correction_bias or num_experts of a moe part"),
    (frozenset({"memory_bytes"}), "window, kv_reuse or causal"),
    (frozenset({"lora_attention"}), "the projections of attn: head_dim, num_kv_heads or kv_reuse"),
    (frozenset({"params", "adam_elements"}), "biases, norms, tables, extra or embedding.tied"),
    (
        frozenset({"flops_prefill", "flops_decode", "flops_train"}),
        "num_experts_per_tok, window, kv_reuse or head",
    ),
    (
        frozenset({"flops_prefill", "flops_decode", "flops_train", "memory_bytes"}),
        "window, cross or the length of the encoder",
    ),
)
"""Sets of numbers that differ alone, smallest first, and the fields that move just them."""


def of_published(card: ModelCard, missing: int, found: Sequence[Correction]) -> str:
    """Why a sum misses the published count by `missing`."""
    told = _told(found)
    left = _left(card, missing)
    if left:
        told = f"{told}, or {left}" if told else left
    amount = f"{abs(missing):,} too {'few' if missing > 0 else 'many'}"
    if told:
        return f"{amount}; {told}"
    return f"{amount}; no single field explains it: compare the tensors of the file one by one"


def of_witnesses(wrong: Collection[str], found: Sequence[Correction]) -> str:
    """Why two witnesses differ in the numbers of these names."""
    told = _told(found)
    if told:
        return f"{told}; {DEFECT}"
    likely = next((why for names, why in BY_QUANTITY if set(wrong) <= names), "")
    return f"look at {likely}; {DEFECT}" if likely else DEFECT


def _told(found: Sequence[Correction]) -> str:
    return f"would agree with {' or '.join(map(str, found))}" if found else ""


def _left(card: ModelCard, missing: int) -> str:
    """Tensors that files are known to hold besides the parameters, of just this size."""
    layers, d = len(layer_names(card.layers)), card.hidden_size
    copy = card.vocab_size * (card.embedding.dim or d)
    if missing == copy and card.embedding.tied:
        return (
            "the file holds a copy of the tied head: "
            f"stored: [{{name: lm_head.weight, shape: [{card.vocab_size}, {d}]}}]"
        )
    context = card.max_position_embeddings or 0
    if missing > 0 and context and missing % (context * context) == 0:
        masks = missing // (context * context)
        if masks in {layers, layers // 2}:
            return (
                f"the file holds {masks} causal masks: "
                f"stored: [{{name: attn.bias, shape: [{masks}, {context}, {context}]}}]"
            )
    if missing > 0 and missing % layers == 0 and missing // layers in {16, 32, 48, 64, 80, 128}:
        each = missing // layers
        shape = f"[{layers}, {each}]"
        return f"the file holds rotary frequencies: stored: [{{name: inv_freq, shape: {shape}}}]"
    return ""

"""Where a class of transformers is known to build another model than its authors published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, Moe
from llmcalc.spec.pattern import layer_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a class, and by how much it changes the count of a card."""

    reason: str
    difference: Callable[[ModelCard], int]
    """Parameters of the class less those of the card."""


def _tied(card: ModelCard) -> int:
    """The output matrix, which an encoder-decoder without ties has to itself."""
    return 0 if card.embedding.tied or not card.head else -card.vocab_size * card.hidden_size


def _zero_experts(card: ModelCard) -> int:
    """Gate and up matrix of every expert that only returns its input."""
    parts = [part for one in _blocks(card) for part in one.parts if isinstance(part, Moe)]
    rows = sum(2 * part.zero_experts * part.intermediate_size for part in parts)
    return rows * card.hidden_size


def _idle_keys(card: ModelCard) -> int:
    """Keys, values and their norm of each layer that reads the cache of another."""
    parts = [part for one in _blocks(card) for part in one.parts if isinstance(part, Attention)]
    return -sum(_keys_and_values(card, part) for part in parts if part.kv_reuse)


def _keys_and_values(card: ModelCard, part: Attention) -> int:
    size = part.head_dim or card.hidden_size // part.num_heads
    kv = part.num_kv_heads or part.num_heads
    return 2 * card.hidden_size * kv * size + (size if part.qk_norm == "head" else 0)


def _blocks(card: ModelCard) -> list[Block]:
    return [card.blocks[name] for name in layer_names(card.layers)]


FAULTS = {
    "t5": Fault(
        reason="the class of transformers 5 ties the output head of T5 v1.1, mT5 and Flan-T5, "
        "whose files hold a head of its own",
        difference=_tied,
    ),
    "longcat_flash": Fault(
        reason="the class gives experts that only return their input weights that no file holds",
        difference=_zero_experts,
    ),
    "gemma3n_text": Fault(
        reason="the class leaves out keys and values of layers that read another's cache; "
        "the published files hold them",
        difference=_idle_keys,
    ),
}
"""By model_type."""
SAME_FAULT = {
    "mt5": "t5", "umt5": "t5", "gemma3n": "gemma3n_text", "gemma4": "gemma3n_text",
    "gemma4_text": "gemma3n_text",
}  # fmt: skip
"""Types whose class has the fault of another."""


def fault_of(model_type: str, card: ModelCard) -> tuple[str, int] | None:
    """Reason and difference of the fault that the class of a card has, if it has one."""
    found = FAULTS.get(SAME_FAULT.get(model_type, model_type))
    difference = found.difference(card) if found else 0
    return (found.reason, difference) if found and difference else None

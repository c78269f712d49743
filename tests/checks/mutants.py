"""For every field of every kind: a card, the same with another value there, what that moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from llmcalc.spec.card import Block, Embedding, ModelCard, Mtp, Stack, Tensor, Tower
from llmcalc.spec.parts import Attention, Indexer, Mlp, Moe, Part
from llmcalc.spec.recurrent import GatedDeltaNet, Mamba2
from tests.checks.parts import ATTENTION, LATENT, MLP, MOE, PARTS, card


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """Two cards that differ in one field."""

    base: ModelCard
    changed: ModelCard
    shows: str
    """A quantity that must differ between them, by the meaning of the field."""


PLAIN = card(ATTENTION, MLP)
HEADS = replace(PLAIN, mtp=Mtp(block="one"))
EXTRA = Tensor(name="more", shape=(3, 5))
STACK = Stack(blocks={"seen": Block(parts=(ATTENTION, MLP))}, layers=("2*seen",), length=8)
WITH_TOWER = replace(PLAIN, towers=(Tower(name="eye", stack=STACK),))
SEEN = replace(ATTENTION, window=24)
CHUNKED = replace(SEEN, chunked=True)
WINDOWED = card(SEEN, MLP)
SPEECH = card(ATTENTION, replace(ATTENTION, cross=True), MLP, encoder=STACK)


def _with_part(of: ModelCard, old: Part, new: Part) -> ModelCard:
    (name, block), *_ = of.blocks.items()
    parts = tuple(new if part == old else part for part in block.parts)
    return replace(of, blocks={name: replace(block, parts=parts)})


def _of_part(kind: type, field: str) -> Mutant:
    part, values = PARTS[kind]
    value, shows = values[field]
    base = card(part) if kind in {Mlp, Moe} else card(part, MLP)
    return Mutant(
        base=base, changed=_with_part(base, part, replace(part, **{field: value})), shows=shows
    )


def _of_card(field: str, value: Any, shows: str = "params", base: ModelCard = PLAIN) -> Mutant:
    return Mutant(base=base, changed=replace(base, **{field: value}), shows=shows)


def _of_embedding(field: str, value: Any, shows: str = "params") -> Mutant:
    return _of_card("embedding", Embedding(**{field: value}), shows)


def _of_block(field: str, value: Any, shows: str = "params") -> Mutant:
    return _of_card("blocks", {"one": replace(PLAIN.blocks["one"], **{field: value})}, shows)


def _of_mtp(field: str, value: Any) -> Mutant:
    block = {"other": Block(parts=(ATTENTION, ATTENTION, MLP))}
    base = replace(HEADS, blocks=HEADS.blocks | block, layers=("2*one", "other"))
    assert base.mtp
    return _of_card("mtp", replace(base.mtp, **{field: value}), "mtp", base)


def _of_stack(field: str, value: Any, shows: str = "params") -> Mutant:
    tower = Tower(name="eye", stack=replace(STACK, **{field: value}))
    return _of_card("towers", (tower,), shows, WITH_TOWER)


def _of_indexer(field: str, value: Any, shows: str) -> Mutant:
    base = card(LATENT, MLP)
    assert LATENT.indexer
    other = replace(LATENT, indexer=replace(LATENT.indexer, **{field: value}))
    return Mutant(base=base, changed=_with_part(base, LATENT, other), shows=shows)


def _crossed() -> Mutant:
    """Self-attention that turns to the encoder, which is as long as eight tokens."""
    other = _with_part(SPEECH, ATTENTION, replace(ATTENTION, cross=True))
    return Mutant(base=SPEECH, changed=other, shows="memory_bytes")


MUTANTS: dict[tuple[type, str], Mutant] = {
    **{(kind, field): _of_part(kind, field) for kind in PARTS for field in PARTS[kind][1]},
    (Attention, "cross"): _crossed(),
    (Indexer, "num_heads"): _of_indexer("num_heads", 4, "params"),
    (Indexer, "head_dim"): _of_indexer("head_dim", 16, "memory_bytes"),
    (Indexer, "topk"): _of_indexer("topk", 8, "flops_decode"),
    (Embedding, "tied"): _of_embedding("tied", value=True),
    (Embedding, "positions"): _of_embedding("positions", 64),
    (Embedding, "types"): _of_embedding("types", 2),
    (Embedding, "norm"): _of_embedding("norm", value=True),
    (Embedding, "dim"): _of_embedding("dim", 8),
    (Block, "parts"): _of_block("parts", (ATTENTION, MLP, MLP)),
    (Block, "norms"): _of_block("norms", 3),
    (Block, "extra"): _of_block("extra", (EXTRA,)),
    (Block, "placement"): _of_block("placement", "sandwich", "kept_sdpa"),
    (Tensor, "shape"): _of_card(
        "extra", (replace(EXTRA, shape=(3, 6)),), base=replace(PLAIN, extra=(EXTRA,))
    ),
    (Stack, "hidden_size"): _of_stack("hidden_size", 32),
    (Stack, "norm"): _of_stack("norm", "layer"),
    (Stack, "blocks"): _of_stack("blocks", {"seen": Block(parts=(ATTENTION,))}),
    (Stack, "layers"): _of_stack("layers", ("3*seen",)),
    (Stack, "final_norm"): _of_stack("final_norm", value=False),
    (Stack, "extra"): _of_stack("extra", (EXTRA,)),
    (Stack, "length"): _of_card("encoder", replace(STACK, length=16), "memory_bytes", SPEECH),
    (Tower, "stack"): _of_card("towers", (Tower(name="eye", params=7),), base=WITH_TOWER),
    (Tower, "params"): _of_card(
        "towers", (Tower(name="eye", params=8),),
        base=replace(PLAIN, towers=(Tower(name="eye", params=7),)),
    ),
    (Mtp, "block"): _of_mtp("block", "other"),
    (Mtp, "layers"): _of_mtp("layers", 2),
    (Mtp, "own_embedding"): _of_mtp("own_embedding", value=True),
    (Mtp, "own_head"): _of_mtp("own_head", value=True),
    (ModelCard, "hidden_size"): _of_card("hidden_size", 32),
    (ModelCard, "vocab_size"): _of_card("vocab_size", 64),
    (ModelCard, "norm"): _of_card("norm", "layer"),
    (ModelCard, "embedding"): _of_embedding("tied", value=True),
    (ModelCard, "blocks"): _of_block("norms", 1),
    (ModelCard, "layers"): _of_card("layers", ("3*one",)),
    (ModelCard, "causal"): _of_card("causal", value=False, shows="memory_bytes"),
    (ModelCard, "final_norm"): _of_card("final_norm", value=False),
    (ModelCard, "head"): _of_card("head", value=False),
    (ModelCard, "head_bias"): _of_card("head_bias", value=True),
    (ModelCard, "encoder"): _of_card("encoder", STACK),
    (ModelCard, "towers"): _of_card("towers", (Tower(name="eye", params=7),)),
    (ModelCard, "mtp"): _of_card("mtp", Mtp(block="one", layers=2), "mtp", HEADS),
    (ModelCard, "extra"): _of_card("extra", (EXTRA,)),
}  # fmt: skip

WORDS = "words for people, or which other file is meant"
SAME: dict[tuple[type, str], tuple[str, Mutant | None]] = {
    (Attention, "rotary_dim"): (
        "turns as many numbers as before, in place",
        Mutant(
            base=PLAIN,
            changed=_with_part(PLAIN, ATTENTION, replace(ATTENTION, rotary_dim=4)),
            shows="",
        ),
    ),
    (Attention, "chunked"): (
        "a full window either way; engines that lay out blocks tell them apart",
        Mutant(base=WINDOWED, changed=_with_part(WINDOWED, SEEN, CHUNKED), shows=""),
    ),
    **{
        (kind, "state_dtype"): (
            "what engines are asked to keep, by those that heed it",
            Mutant(
                base=card(PARTS[kind][0], MLP),
                changed=card(replace(PARTS[kind][0], state_dtype="fp32"), MLP),
                shows="",
            ),
        )
        for kind in (Mamba2, GatedDeltaNet)
    },
    (Moe, "n_group"): (
        "how far tokens travel to their experts, not how many they visit",
        Mutant(base=card(MOE), changed=card(replace(MOE, n_group=2)), shows=""),
    ),
    (Moe, "topk_group"): (
        "the same",
        Mutant(
            base=card(replace(MOE, n_group=2)),
            changed=card(replace(MOE, n_group=2, topk_group=2)),
            shows="",
        ),
    ),
    (Embedding, "scale"): ("one multiplication an element", _of_embedding("scale", "sqrt_hidden")),
    (Tensor, "name"): (
        WORDS,
        _of_card("extra", (replace(EXTRA, name="x"),), base=replace(PLAIN, extra=(EXTRA,))),
    ),
    (Tower, "name"): (WORDS, _of_card("towers", (Tower(name="a", stack=STACK),), base=WITH_TOWER)),
    (Tower, "modality"): (
        "under which component it is counted",
        _of_card("towers", (Tower(name="eye", modality="audio", stack=STACK),), base=WITH_TOWER),
    ),
    (Tower, "patches_per_token"): (
        "towers see no text; only an image at work takes more room",
        _of_card("towers", (Tower(name="eye", patches_per_token=4, stack=STACK),), base=WITH_TOWER),
    ),
    (ModelCard, "max_position_embeddings"): (
        "a limit, not a size",
        _of_card("max_position_embeddings", 4096),
    ),
    **{
        (ModelCard, name): (WORDS, None)
        for name in ("name", "family", "aliases", "released", "source", "confidence", "notes")
    },
    (ModelCard, "published"): ("is compared with a sum of its own", None),
    (ModelCard, "stored"): ("is compared with a sum of its own", None),
}
"""Fields that no quantity hangs on, each with the reason."""

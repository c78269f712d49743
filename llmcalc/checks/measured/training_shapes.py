"""Cards of models that were trained for benchmarks alone: shapes of a published table.

Biases, norms and positions are left out: they multiply nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from llmcalc.checks.measured.catalog import cards
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.training_words import card
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention, Mlp

MPT: dict[str, tuple[int, int, int]] = {
    "MPT-125m": (768, 12, 12), "MPT-350m": (1024, 24, 16), "MPT-760m": (1536, 24, 12),
    "MPT-1b": (2048, 24, 16), "MPT-3b": (2560, 32, 20), "MPT-7b": (4096, 32, 32),
    "MPT-13b": (5120, 40, 40), "MPT-30b": (7168, 48, 56), "MPT-70b": (8192, 80, 64),
}  # fmt: skip
"""Width, layers and heads of llm-foundry's benchmarks (scripts/train/yamls/pretrain); with 50,368
words, biases and learned positions they have the parameters of its table to the last digit."""
MPT_VOCAB = 50_368


def trained_card(config: Cells) -> ModelCard:
    """The card of a row. Raises Unusable where there is none."""
    said = config.get("model", "")
    if config.get("framework", "").startswith("llm-foundry") and said in MPT:
        return mpt(said)
    return _BESIDE[said]() if said in _BESIDE else card(config)


@cache
def mpt(name: str) -> ModelCard:
    """One of llm-foundry's benchmark models."""
    width, layers, heads = MPT[name]
    return plain("mpt-7b", name.lower(), width, layers, heads, 4 * width, MPT_VOCAB)


@cache
def _internlm() -> ModelCard:
    """InternLM-7B: huggingface.co/internlm/internlm-7b config.json."""
    return plain("llama-7b", "internlm-7b", 4096, 32, 32, 11_008, 103_168)


@cache
def _mt_nlg() -> ModelCard:
    """Megatron-Turing NLG 530B (arXiv:2201.11990, section 2.3); GPT-2's words, filled up."""
    return plain("mpt-7b", "mt-nlg-530b", 20_480, 105, 128, 4 * 20_480, 51_200)


_BESIDE = {"InternLM-7B": _internlm, "MT-NLG 530B": _mt_nlg}


def plain(
    base: str, name: str, width: int, layers: int, heads: int, inner: int, vocab: int
) -> ModelCard:
    """A card of one kind of layer with other sizes."""
    like = cards()[base]
    (kind, block), *_ = like.blocks.items()
    parts = tuple(
        replace(part, num_heads=heads) if isinstance(part, Attention)
        else replace(part, intermediate_size=inner) if isinstance(part, Mlp)
        else part
        for part in block.parts
    )  # fmt: skip
    return replace(
        like, name=name, aliases=(), hidden_size=width, vocab_size=vocab,
        blocks={kind: replace(block, parts=parts)}, layers=(f"{layers}*{kind}",),
        published=None, stored=(),
    )  # fmt: skip

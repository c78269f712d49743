"""A card from the header of a .gguf file: metadata say the sizes, and every tensor must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llmcalc.catalog.checkpoint import StoredTensor
from llmcalc.catalog.gguf import Gguf
from llmcalc.catalog.gguf_facts import Facts
from llmcalc.catalog.huggingface.layers import compress
from llmcalc.catalog.suggest import nearest
from llmcalc.catalog.validate import validate_data
from llmcalc.catalog.wording import word
from llmcalc.spec.card import ModelCard
from llmcalc.spec.pattern import LONGEST as MOST_LAYERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One `general.architecture` as its difference from LLaMA."""

    family: str
    qk_norm: bool = False
    sandwich: bool = False
    """Norms before and behind each part, GELU, scaled embeddings (Gemma)."""
    fused: bool = False
    """Queries, keys and values are one matrix, gate and up are one."""
    window: bool = False
    """Whether a sliding window is understood."""
    period: int = 1
    """One layer in so many sees all tokens; 1: all layers are alike."""
    experts: bool = False


ARCHITECTURES = {
    "llama": Architecture(family="llama", experts=True),
    "qwen2": Architecture(family="qwen"),
    "qwen3": Architecture(family="qwen", qk_norm=True),
    "gemma2": Architecture(family="gemma", sandwich=True, window=True, period=2),
    "gemma3": Architecture(family="gemma", sandwich=True, qk_norm=True, window=True, period=6),
    "phi3": Architecture(family="phi", fused=True, window=True),
}
"""Those that are understood; Mistral and Mixtral are `llama`."""

BUFFERS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that nobody learned."""
Shapes = dict[str, tuple[int, ...]]
_SHOWN = 5


def card_from_gguf(file: Gguf, name: str) -> ModelCard:
    """The card of the model in `file`.

    Raises InvalidFileError for an architecture, a key or a tensor that is not understood, so that
    the card's parameters are the numbers of the file to the last one.
    """
    facts = Facts(file.metadata, file.checkpoint.origin)
    kind = _architecture(facts)
    stored = {one.name: one for one in file.checkpoint.tensors}
    sizes = _Sizes(facts, kind, stored)
    facts.refuse_leftovers()
    _compare(facts, dict(sizes.tensors()), stored)
    types = ", ".join(sorted({one.dtype for one in file.checkpoint.tensors}))
    origin = file.checkpoint.origin
    heading = {
        "name": name,
        "family": kind.family,
        "source": f"header of a GGUF file, architecture {facts.arch}",
        "notes": f"weights are stored as {types}",
    }
    return validate_data(ModelCard, heading | sizes.card(), origin)


def _architecture(facts: Facts) -> Architecture:
    if facts.arch in ARCHITECTURES:
        return ARCHITECTURES[facts.arch]
    best = nearest(facts.arch[:60], ARCHITECTURES)
    hint = f"did you mean {best}?" if best else f"understood are {', '.join(ARCHITECTURES)}"
    raise facts.bad(f"general.architecture {word(facts.arch)} is not understood", hint)


class _Sizes:
    """The sizes of one model, the tensors and the card that they mean."""

    def __init__(self, facts: Facts, kind: Architecture, stored: dict[str, StoredTensor]) -> None:
        self.kind = kind
        self.d = facts.size("embedding_length")
        self.layers = facts.size("block_count", most=MOST_LAYERS)
        self.context = facts.size("context_length")
        self.h = facts.size("attention.head_count")
        self.h_kv = facts.size("attention.head_count_kv", self.h)
        usual = None if self.d % self.h else self.d // self.h
        self.d_k = facts.size("attention.key_length", usual)
        self.d_v = facts.size("attention.value_length", self.d_k)
        self.d_ff = facts.size("feed_forward_length")
        self.rotary = facts.size("rope.dimension_count", self.d_k)
        self.experts = facts.count("expert_count", 0)
        self.top_k = facts.count("expert_used_count", 0)
        self.windows = _windows(facts, kind, self.layers)
        self.vocab = _rows(facts, stored)
        self.tied = "output.weight" not in stored
        self.qkv_bias = "blk.0.attn_q.bias" in stored
        self.o_bias = "blk.0.attn_output.bias" in stored
        self._buffers = {name: stored[name].shape for name in BUFFERS if name in stored}
        if self.experts and not kind.experts:
            raise facts.bad(f"experts are not understood for {facts.arch}")
        if self.top_k > self.experts:
            raise facts.bad(f"a token cannot visit {self.top_k} of {self.experts} experts")

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every tensor that the file must hold, with its shape."""
        yield "token_embd.weight", (self.vocab, self.d)
        yield "output_norm.weight", (self.d,)
        if not self.tied:
            yield "output.weight", (self.vocab, self.d)
        yield from self._buffers.items()
        layer = self._norms() | self._attention() | self._feed_forward()
        for number in range(self.layers):
            for name, shape in layer.items():
                yield f"blk.{number}.{name}", shape

    def _norms(self) -> Shapes:
        names = ["attn_norm", "ffn_norm"]
        names += ["post_attention_norm", "post_ffw_norm"] if self.kind.sandwich else []
        heads = ["attn_q_norm", "attn_k_norm"] if self.kind.qk_norm else []
        sizes = dict.fromkeys(names, self.d) | dict.fromkeys(heads, self.d_k)
        return {f"{name}.weight": (size,) for name, size in sizes.items()}

    def _attention(self) -> Shapes:
        q, k, v = self.h * self.d_k, self.h_kv * self.d_k, self.h_kv * self.d_v
        out: Shapes = {"attn_output.weight": (self.d, self.h * self.d_v)}
        out |= {"attn_output.bias": (self.d,)} if self.o_bias else {}
        if self.kind.fused:
            return out | {"attn_qkv.weight": (q + k + v, self.d)}
        for name, rows in (("attn_q", q), ("attn_k", k), ("attn_v", v)):
            out[f"{name}.weight"] = (rows, self.d)
            if self.qkv_bias:
                out[f"{name}.bias"] = (rows,)
        return out

    def _feed_forward(self) -> Shapes:
        d, d_ff, n = self.d, self.d_ff, self.experts
        if n:
            return {
                "ffn_gate_inp.weight": (n, d), "ffn_gate_exps.weight": (n, d_ff, d),
                "ffn_up_exps.weight": (n, d_ff, d), "ffn_down_exps.weight": (n, d, d_ff),
            }  # fmt: skip
        if self.kind.fused:
            return {"ffn_up.weight": (2 * d_ff, d), "ffn_down.weight": (d, d_ff)}
        up: Shapes = {f"ffn_{name}.weight": (d_ff, d) for name in ("gate", "up")}
        return up | {"ffn_down.weight": (d, d_ff)}

    def card(self) -> dict[str, Any]:
        """The architecture as a card says it."""
        blocks = {self._called(window): self._block(window) for window in self.windows}
        embedding = ({"tied": True} if self.tied else {}) | (
            {"scale": "sqrt_hidden"} if self.kind.sandwich else {}
        )
        return {
            "stored": [
                {"name": name, "shape": list(shape)} for name, shape in self._buffers.items()
            ],
            "hidden_size": self.d,
            "vocab_size": self.vocab,
            "max_position_embeddings": self.context,
            "embedding": embedding,
            "blocks": blocks,
            "layers": list(compress([self._called(window) for window in self.windows])),
        }

    def _called(self, window: int | None) -> str:
        if len(set(self.windows)) > 1:
            return "global" if window is None else "local"
        return "moe" if self.experts else "dense"

    def _block(self, window: int | None) -> dict[str, Any]:
        attention: dict[str, Any] = {"num_heads": self.h}
        said = {
            "num_kv_heads": (self.h_kv, self.h), "head_dim": (self.d_k, self.d / self.h),
            "v_head_dim": (self.d_v, self.d_k), "rotary_dim": (self.rotary, self.d_k),
            "qkv_bias": (self.qkv_bias, False), "o_bias": (self.o_bias, False),
            "window": (window, None), "qk_norm": ("head" if self.kind.qk_norm else None, None),
        }  # fmt: skip
        attention |= {key: value for key, (value, usual) in said.items() if value != usual}
        around = {"norms": 4, "placement": "sandwich"} if self.kind.sandwich else {}
        return around | {"parts": [{"attn": attention}, self._feed()]}

    def _feed(self) -> dict[str, Any]:
        act = {"activation": "gelu"} if self.kind.sandwich else {}
        size = {"intermediate_size": self.d_ff}
        if not self.experts:
            return {"mlp": size | act}
        chosen = {"num_experts": self.experts, "num_experts_per_tok": self.top_k}
        return {"moe": chosen | size | act}


def _windows(facts: Facts, kind: Architecture, layers: int) -> list[int | None]:
    """The sliding window of each layer, None for one that sees all tokens."""
    window = facts.count("attention.sliding_window", 0)
    if window and not kind.window:
        raise facts.bad(f"attention.sliding_window is not understood for {facts.arch}")
    if kind.period > 1 and not window:
        raise facts.bad("attention.sliding_window is missing", "take another file")
    pattern = facts.pattern("attention.sliding_window_pattern", kind.period, layers)
    return [window if window and slides else None for slides in pattern]


def _rows(facts: Facts, stored: dict[str, StoredTensor]) -> int:
    table = stored.get("token_embd.weight")
    if table is None or len(table.shape) != 2:  # noqa: PLR2004
        raise facts.bad("there is no token table token_embd.weight")
    return table.shape[0]


def _compare(facts: Facts, expected: Shapes, stored: dict[str, StoredTensor]) -> None:
    """Refuse a tensor that the sizes do not explain, one that is lacking, and a wrong shape."""
    more = [name for name in stored if name not in expected]
    less = [name for name in expected if name not in stored]
    for names, what in ((more, "unknown tensors"), (less, "no tensors")):
        if names:
            shown = ", ".join(map(word, names[:_SHOWN])) + (", …" if names[_SHOWN:] else "")
            hint = "`llmcalc import` prints what it stores; write a card by hand"
            raise facts.bad(f"{facts.arch} with {what} {shown} is not understood", hint)
    for name, shape in expected.items():
        if stored[name].shape != shape:
            found = list(stored[name].shape)
            raise facts.bad(f"{word(name)} is {found}, and the metadata mean {list(shape)}")

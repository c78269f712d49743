"""One layer of each kind of a card, as a module on the meta device, with how often it occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from llmcalc.spec.card import Block, ModelCard, Stack
from llmcalc.spec.parts import Attention, LatentAttention
from llmcalc.spec.pattern import layer_names
from llmcalc.twin.block import BlockTwin
from llmcalc.twin.extras import hold
from llmcalc.twin.fused import fuse
from llmcalc.twin.model import EndsTwin
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Kernel, Pass, Setting

DTYPE = torch.bfloat16


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One kind of layer, and what it works on."""

    name: str
    times: int
    block: Block
    module: BlockTwin
    width: int
    causal: bool
    batch: int
    tokens: int
    """Of each sequence."""
    encoded: int
    """Tokens of the encoder that a decoder's layer looks at, 0: none."""
    encoder_width: int
    device: str

    def input(self, tokens: int | None = None, *, grad: bool = False) -> Tensor:
        """A residual stream [b, s, d] without data."""
        shape = (self.batch, tokens or self.tokens, self.width)
        return torch.empty(shape, device=self.device, dtype=DTYPE, requires_grad=grad)

    def run(
        self, first: int = 0, tokens: int | None = None, memory: dict[int, Any] | None = None
    ) -> Pass:
        """A pass over tokens that stand from `first` on, with what other layers would leave."""
        new = self.tokens if tokens is None else tokens
        positions = torch.arange(first, first + new, device=self.device)
        run = Pass(positions=positions, memory=memory)
        if self.encoded:
            shape = (self.batch, self.encoded, self.encoder_width)
            run.encoded = torch.empty(shape, device=self.device, dtype=DTYPE, requires_grad=True)
        for part in self.block.parts:
            if isinstance(part, Attention) and part.kv_reuse:
                h_kv = part.num_kv_heads or part.num_heads
                d_k = part.head_dim or self.width // part.num_heads
                seen = min(first + new, part.window or first + new) if new == 1 else first + new
                k = torch.empty(self.batch, h_kv, seen, d_k, device=self.device, dtype=DTYPE)
                v = k.new_empty(self.batch, h_kv, seen, part.v_head_dim or d_k)
                run.latest[h_kv, d_k, part.window] = k.requires_grad_(), v.requires_grad_()
        return run

    def prepared(self) -> Pass:
        """A pass whose rotations are made already, as an earlier layer would have."""
        run = self.run()
        for part in self.block.parts:
            if isinstance(part, LatentAttention):
                run.rotation(part.qk_rope_head_dim, DTYPE)
            elif isinstance(part, Attention):
                whole = part.head_dim or self.width // part.num_heads
                turned = whole if part.rotary_dim is None else part.rotary_dim
                if turned and not part.cross:
                    run.rotation(turned, DTYPE)
        return run


def layers(
    card: ModelCard, *, batch: int, tokens: int, kernel: Kernel, device: str = "meta"
) -> Iterator[Layer]:
    """Every kind of layer: the language model's, then an encoder's; towers see no text."""
    encoder = card.encoder
    encoded = (encoder.length or tokens) if encoder else 0
    wide = (encoder.hidden_size or card.hidden_size) if encoder else 0
    setting = Setting(
        hidden_size=card.hidden_size, norm=card.norm, kernel=kernel, causal=card.causal
    )
    for name, times in Counter(layer_names(card.layers)).items():
        yield _layer(
            name, times, card.blocks[name], setting,
            batch=batch, tokens=tokens, encoded=encoded, encoder_width=wide, device=device,
        )  # fmt: skip
    if encoder is None:
        return
    setting = Setting(hidden_size=wide, norm=encoder.norm or card.norm, kernel=kernel, causal=False)
    for name, times in Counter(layer_names(encoder.layers)).items():
        yield _layer(
            f"encoder.{name}", times, encoder.blocks[name], setting,
            batch=batch, tokens=encoded, encoded=0, encoder_width=0, device=device,
        )  # fmt: skip


def _layer(name: str, times: int, block: Block, setting: Setting, **rest: Any) -> Layer:
    with torch.device(rest["device"]), _default(DTYPE):
        module = BlockTwin(block, setting, count())
    if setting.kernel == "fused":
        fuse(module)
    return Layer(
        name=name,
        times=times,
        block=block,
        module=module,
        width=setting.hidden_size,
        causal=setting.causal,
        **rest,
    )


def ends(card: ModelCard, device: str = "meta") -> EndsTwin:
    """Embedding, final norm and head."""
    with torch.device(device), _default(DTYPE):
        return EndsTwin(card)


def beside(card: ModelCard) -> Iterator[tuple[str, int, nn.Module]]:
    """What stands beside the layers for its weights alone: ends of stacks, layers of towers."""
    stacks = [("encoder", card.encoder)] if card.encoder else []
    stacks += [(tower.name, tower.stack) for tower in card.towers if tower.stack]
    for name, stack in stacks:
        yield f"{name}.ends", 1, _stack_ends(card, stack)
    for tower in card.towers:
        if tower.stack is None:
            whole = nn.Parameter(torch.empty(tower.params or 0, device="meta"))
            yield tower.name, 1, nn.ParameterList([whole])
        else:
            yield from _tower_layers(card, tower.name, tower.stack)


def _stack_ends(card: ModelCard, stack: Stack) -> nn.Module:
    with torch.device("meta"):
        kind, width = stack.norm or card.norm, stack.hidden_size or card.hidden_size
        module: nn.Module = norm(kind, width) if stack.final_norm else nn.Module()
        hold(module, stack.extra)
    return module


def _tower_layers(card: ModelCard, name: str, stack: Stack) -> Iterator[tuple[str, int, nn.Module]]:
    setting = Setting(
        hidden_size=stack.hidden_size or card.hidden_size, norm=stack.norm or card.norm,
        causal=False,
    )  # fmt: skip
    for kind, times in Counter(layer_names(stack.layers)).items():
        with torch.device("meta"):
            yield f"{name}.{kind}", times, BlockTwin(stack.blocks[kind], setting, count())


class _default:  # noqa: N801  reads as the statement that it is
    """The dtype of new parameters, for a while."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *_: object) -> None:
        torch.set_default_dtype(self.before)

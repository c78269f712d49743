"""Real training steps of the twin on the meta device: what torch's autograd and optimizers hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.checkpoint import checkpoint

from llmcalc.spec.card import ModelCard
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel
from tests.witness.live import Live

Make = Callable[[Any], Optimizer]


def adamw(parameters: Any) -> Optimizer:
    """As torch steps on a GPU, all tensors at once."""
    return torch.optim.AdamW(parameters, foreach=True)


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a step is made."""

    batch: int = 2
    tokens: int = 512
    dtype: torch.dtype = torch.bfloat16
    kernel: Kernel = "sdpa"
    recompute: bool = False
    micro_batches: int = 1
    optimizer: Make = adamw
    prepare: Callable[[nn.Module], None] = lambda _: None
    """What is done to the model before the first step, as adding adapters."""


def peaks(card: ModelCard, step: Step) -> dict[str, int]:
    """Bytes of live tensors at their most in each stretch of the second step."""
    model = _model(card, step)
    with torch.device("meta"):
        ids = torch.zeros(step.batch, step.tokens, dtype=torch.long)
    optimizer = step.optimizer([one for one in model.parameters() if one.requires_grad])
    found: dict[str, int] = {}
    with Live(*model.parameters(), *model.buffers()) as live:
        _watch(model, live, found, recompute=step.recompute)
        for _ in range(2):
            for _ in range(step.micro_batches):
                logits = None
                logits = _pass(model, ids, live, found)
            live.restart()
            optimizer.step()
            found["step"] = live.restart()
            optimizer.zero_grad()
            del logits
    return found


def _model(card: ModelCard, step: Step) -> ModelTwin:
    before = torch.get_default_dtype()
    torch.set_default_dtype(step.dtype)
    try:
        with torch.device("meta"):
            model = ModelTwin(card, kernel=step.kernel)
            step.prepare(model)
    finally:
        torch.set_default_dtype(before)
    return model


def _pass(model: ModelTwin, ids: Tensor, live: Live, found: dict[str, int]) -> Tensor:
    """One forward and backward pass of a loop that names the logits."""
    found.clear()
    live.restart()
    logits = model(ids)
    logits.register_hook(_mark("loss", live, found))
    loss = F.cross_entropy(logits.float().flatten(0, 1), ids.flatten())
    found["forward"] = live.restart()
    loss.backward()
    found["table"] = live.restart()
    return logits.detach()


def _watch(model: ModelTwin, live: Live, found: dict[str, int], *, recompute: bool) -> None:
    """Mark where the gradient of each layer's output is there."""
    for number, layer in enumerate(model.layers):
        after = {len(model.layers) - 1: "head", len(model.layers) - 2: "last"}.get(number, "")

        def forward(x: Tensor, run: Any, inner: Any = layer.forward, after: str = after) -> Tensor:
            out = (
                checkpoint(inner, x, run, use_reentrant=False, preserve_rng_state=False)
                if recompute
                else inner(x, run)
            )
            out.register_hook(_mark(after, live, found))
            run.latest.clear()  # keys and values for layers that read another's
            return out  # type: ignore[no-any-return]

        layer.forward = forward
    ends = model.ends
    embedded = ends.embedded

    def first(tokens: Tensor, positions: Tensor) -> Tensor:
        out = embedded(tokens, positions)
        if out.requires_grad:
            out.register_hook(_mark("first", live, found))
        else:
            out.requires_grad_()  # as PEFT's enable_input_require_grads does
        return out

    ends.embedded = first  # type: ignore[method-assign]


def _mark(name: str, live: Live, found: dict[str, int]) -> Callable[[Tensor], None]:
    def mark(_: Tensor) -> None:
        found[name] = live.restart()

    return mark


class Adapted(nn.Module):
    """W·x + B·A·dropout(x) with W frozen, as PEFT writes it."""

    def __init__(self, base: nn.Linear, rank: int, dropout: float) -> None:
        super().__init__()
        self.base, self.dropout = base, dropout
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Both products; dropout as a GPU computes it, whose mask has a byte an element."""
        seen = torch.native_dropout(x, self.dropout, True)[0] if self.dropout else x
        low: Tensor = self.b(self.a(seen))
        out: Tensor = self.base(x) + low
        return out


def adapted(rank: int, dropout: float) -> Callable[[nn.Module], None]:
    """Freeze a model and put factors beside every linear product of its layers."""

    def prepare(model: nn.Module) -> None:
        model.requires_grad_(requires_grad=False)
        assert isinstance(model, ModelTwin)
        for layer in model.layers:
            for parent in list(layer.modules()):
                for name, one in list(parent.named_children()):
                    if isinstance(one, nn.Linear):
                        setattr(parent, name, Adapted(one, rank, dropout))

    return prepare

"""A real decode step: the twin of a card, random weights, a cache held, one token a sequence."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from llmcalc.bench.buffers import noise
from llmcalc.bench.clock import wait
from llmcalc.bench.device import Device
from llmcalc.bench.judge import Judge, Refused
from llmcalc.bench.memory import kv_bytes, remembered
from llmcalc.bench.model import weight_bytes
from llmcalc.bench.operators import called
from llmcalc.bench.samples import Samples
from llmcalc.spec.card import ModelCard
from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Pass


class Step:
    """One decode step that can be taken again and again, always the same."""

    def __init__(self, model: ModelTwin, card: ModelCard, batch: int, context: int) -> None:
        weight = model.ends.embed_tokens.weight
        self.model, self.batch, self.context = model, batch, context
        self.encoded = _encoded(card, batch, context, weight)
        self.tokens = torch.randint(card.vocab_size, (batch, 1), device=weight.device)
        self.positions = torch.tensor([context - 1], device=weight.device)
        with torch.inference_mode():
            self.memory = remembered(model, batch, context, self.encoded)
        self.weight_bytes = weight_bytes(model, batch)
        self.kv_bytes = kv_bytes(model, self.memory)

    @torch.inference_mode()
    def __call__(self) -> Tensor:
        """Logits [b, 1, V]."""
        run = Pass(positions=self.positions, memory=self.memory, encoded=self.encoded)
        logits: Tensor = self.model(self.tokens, run)
        return logits

    def operators(self) -> int:
        """That a step calls."""
        return called(self)


def stepped(step: Step, judge: Judge, figure: str, *, graph: bool) -> Samples:
    """Samples of a step, operator by operator or as one CUDA graph. Raises Refused."""
    call = _captured(step, judge.device) if graph else step
    if not bool(torch.isfinite(step()).all()):
        raise Refused(figure, "the logits are not finite")
    samples = judge.timed(figure, call)
    judge.possible(figure, (step.weight_bytes + step.kv_bytes) / samples.median / 10**9)
    return samples


def _captured(step: Step, device: Device) -> Callable[[], object]:
    """The step recorded once on the device; replaying it costs one launch."""
    side = torch.cuda.Stream(device.torch)
    side.wait_stream(torch.cuda.current_stream(device.torch))
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    wait(device.torch)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    return recorded.replay


def _encoded(card: ModelCard, batch: int, context: int, like: Tensor) -> Tensor | None:
    """What an encoder would have put out, for layers that look at it."""
    if card.encoder is None:
        return None
    width = card.encoder.hidden_size or card.hidden_size
    return noise((batch, card.encoder.length or context, width), like.dtype, like.device)

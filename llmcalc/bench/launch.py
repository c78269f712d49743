"""What it costs to start an operator that has nothing to do."""

from __future__ import annotations

import torch

from llmcalc.bench.judge import Judge
from llmcalc.bench.model import materialised
from llmcalc.bench.step import Step
from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, Mlp

LAUNCH = "launch of an operator"
OPERATOR = "operator of a small model"
CONTEXT = 16
MINIATURE = ModelCard(
    name="miniature",
    family="llama",
    source="made up: the parts of most models, so small that no device takes time to compute them",
    hidden_size=64,
    vocab_size=64,
    blocks={
        "layer": Block(
            parts=(
                Attention(num_heads=4, num_kv_heads=2, head_dim=16),
                Mlp(intermediate_size=128),
            )
        )
    },
    layers=("16*layer",),
)


def launch_seconds(judge: Judge) -> float:
    """Seconds of one operator on one number, of many in a row. Raises Refused.

    On a CPU that is torch's dispatch and the call itself; on CUDA the slower of the host that
    launches and the device that runs a kernel without work.
    """
    one = torch.rand(1, device=judge.device.torch)
    return judge.timed(LAUNCH, lambda: one.mul_(1.0)).median


def operator_seconds(judge: Judge) -> float:
    """Seconds of an operator within a decode step, with all that Python does around it.

    Of the step of a model so small that nothing else takes time, over the operators that it calls.
    Raises Refused.
    """
    model = materialised(MINIATURE, judge.device, "bf16", "grouped")
    step = Step(model, MINIATURE, batch=1, context=CONTEXT)
    return judge.timed(OPERATOR, step).median / step.operators()

"""What it costs to start an operator that has nothing to do."""

from __future__ import annotations

import torch

from llmcalc.bench.buffers import noise
from llmcalc.bench.judge import Judge
from llmcalc.bench.operators import called
from llmcalc.twin.norms import RmsNorm

LAUNCH = "launch of an operator"
OPERATOR = "operator of a small norm"
WIDTH = 64
"""Numbers of a norm that no device takes time to compute."""


def launch_seconds(judge: Judge) -> float:
    """Seconds of one operator on one number, of many in a row. Raises Refused.

    On a CPU that is torch's dispatch and the call itself; on CUDA the slower of the host that
    launches and the device that runs a kernel without work.
    """
    one = torch.rand(1, device=judge.device.torch)
    return judge.timed(LAUNCH, lambda: one.mul_(1.0)).median


def operator_seconds(judge: Judge) -> float:
    """Seconds of an operator among others in a module, with all that Python does around it.

    Of a norm of the twin on few numbers, over the operators that it calls. Raises Refused.
    """
    device = judge.device.torch
    norm = RmsNorm(WIDTH).to(device, torch.bfloat16).requires_grad_(False)
    x = noise((1, 1, WIDTH), torch.bfloat16, device)
    return judge.timed(OPERATOR, lambda: norm(x)).median / called(lambda: norm(x))

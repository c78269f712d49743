"""What it costs to start an operator that has nothing to do."""

from __future__ import annotations

import torch

from llmcalc.bench.judge import Judge

FIGURE = "launch of an operator"


def launch_seconds(judge: Judge) -> float:
    """Seconds of one operator on one number, of many in a row. Raises Refused.

    On a CPU that is torch's dispatch and the call itself; on CUDA the slower of the host that
    launches and the device that runs a kernel without work.
    """
    one = torch.rand(1, device=judge.device.torch)
    return judge.timed(FIGURE, lambda: one.mul_(1.0)).median

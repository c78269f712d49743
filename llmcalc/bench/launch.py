"""What it costs to start an operator that has nothing to do."""

from __future__ import annotations

import torch

from llmcalc.bench.clock import timed
from llmcalc.bench.device import Device
from llmcalc.bench.effort import Effort
from llmcalc.bench.samples import doubt
from llmcalc.bench.trusted import Refused


def launch_seconds(device: Device, effort: Effort) -> float:
    """Seconds of one operator on one number, of many in a row. Raises Refused.

    On a CPU that is torch's dispatch and the call itself; on CUDA the slower of the host that
    launches and the device that runs an empty kernel.
    """
    one = torch.rand(1, device=device.torch)
    samples = timed(lambda: one.mul_(1.0), device.torch, effort)
    if why := doubt(samples):
        raise Refused("launch of an operator", why)
    return samples.median

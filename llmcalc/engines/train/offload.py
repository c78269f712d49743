"""What is kept beside the GPU: in the memory of its host, on its NVMe, and in pinned buffers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from llmcalc.formula import formula
from llmcalc.spec.framework import Nvme

To = Literal["cpu", "nvme"]
FLOAT32 = 4


class Kept(NamedTuple):
    """Bytes beside one GPU."""

    host: int = 0
    """In the memory of the host, buffers included."""
    buffers: int = 0
    """Of that, pinned buffers between the GPU and NVMe."""
    nvme: int = 0


@formula(
    "count · min(numbers, size) · bytes",
    source="DeepSpeed runtime/swap_tensor, SwapBufferManager: so many buffers of a sub-group each",
    unit="bytes",
)
def buffer_bytes(*, count: int, numbers: int, size: int, bytes: int) -> int:
    """Bytes of pinned buffers, none larger than what passes through them."""
    return count * min(numbers, size) * bytes


def kept(to: To, nvme: Nvme, *, states: int, trained: int, weights: int, computed: int) -> Kept:
    """Where states of `trained` numbers and weights go; 0 of what stays on the GPU.

    On NVMe the first numbers of weights stay in the host's memory.
    """
    if to == "cpu":
        return Kept(host=states + weights)
    pinned, first = 0, 0
    if states:
        pinned += _int(buffer_bytes(count=nvme.optimizer_buffers, numbers=trained,
                                    size=nvme.sub_group, bytes=FLOAT32))  # fmt: skip
    if weights:
        numbers = weights // computed
        first = min(numbers, nvme.weights_in_cpu) * computed
        pinned += _int(buffer_bytes(count=nvme.weight_buffers, numbers=numbers,
                                    size=nvme.weight_buffer, bytes=computed))  # fmt: skip
    return Kept(host=first + pinned, buffers=pinned, nvme=states + weights - first)


def _int(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101  decorated functions are untyped
    return value

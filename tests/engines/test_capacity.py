"""What a device offers: torch's word, else the driver's, else the box's in decimal gigabytes."""

from __future__ import annotations

from typing import Any

import pytest

from llmcalc.catalog.find import gpu
from llmcalc.engines.capacity import capacity
from llmcalc.errors import InvalidFileError
from llmcalc.spec.gpu import GpuMemory, GpuSpec

ALL: dict[str, Any] = {"marketed_gb": 80.0, "reported_mib": 81_920.0, "torch_gib": 79.25}


def _spec(**memory: Any) -> GpuSpec:
    return GpuSpec(
        name="x", title="X", vendor="Y", memory=GpuMemory(**memory), sources={"memory": "by hand"}
    )


@pytest.mark.parametrize(
    ("left_out", "bytes", "word"),
    [
        ((), 85_094_039_552, "torch"),
        (("torch_gib",), 85_899_345_920, "driver"),
        (("torch_gib", "reported_mib"), 80_000_000_000, "marketed"),
    ],
)
def test_the_most_trustworthy_figure_counts(
    left_out: tuple[str, ...], bytes: int, word: str
) -> None:
    found = capacity(_spec(**{key: value for key, value in ALL.items() if key not in left_out}))
    assert found.bytes == bytes
    assert word in found.basis
    assert "shared" not in found.basis


def test_unified_memory_says_that_it_is_shared() -> None:
    assert "shared with the processor" in capacity(_spec(marketed_gb=128.0, unified=True)).basis


def test_a_spec_without_memory_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="no memory size"):
        capacity(_spec())


def test_an_h100_of_80_gb_is_79_11_gib_to_torch() -> None:
    assert capacity(gpu("h100")).bytes == int(79.11 * 2**30)

"""Layers on the host and on devices, by hand and as llama.cpp counts them."""

from __future__ import annotations

import pytest

from llmcalc.engines.layer_split import Split, split

ORDER = ("dense",) * 4


def dealt(n_gpu_layers: int, devices: tuple[float, ...] = (1.0,)) -> Split:
    return split(
        ORDER, n_gpu_layers=n_gpu_layers, devices=devices, layer_bytes=lambda _: 10,
        table_bytes=3, head_bytes=5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n_gpu_layers", "host", "device"),
    [(0, 3 + 40 + 5, 0), (1, 3 + 40, 5), (3, 3 + 20, 25), (5, 3, 45), (99, 3, 45)],
)
def test_the_head_goes_first_then_the_last_layers(
    n_gpu_layers: int, host: int, device: int
) -> None:
    found = dealt(n_gpu_layers)
    assert (found.host.weights, found.devices[0].weights) == (host, device)


def test_the_table_stays_on_the_host() -> None:
    assert dealt(99).host.layers == ()
    assert dealt(99).host.weights == 3


def test_devices_take_runs_in_proportion() -> None:
    """Five parts over two equal devices: 0.0, 0.2 and 0.4 are below a half."""
    first, second = dealt(99, (1.0, 1.0)).devices
    assert (len(first.layers), len(second.layers), second.head) == (3, 1, True)


def test_a_larger_device_takes_more() -> None:
    first, second = dealt(99, (3.0, 1.0)).devices
    assert (len(first.layers), len(second.layers)) == (4, 0)
    assert second.head

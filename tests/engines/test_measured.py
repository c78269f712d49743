"""A measured device: what its rates are for each format, by hand."""

from __future__ import annotations

import pytest

from llmcalc.engines.measured import measured_device
from llmcalc.errors import ImpossibleError
from llmcalc.spec.measurement import MatmulRate, Measurement


def _rate(m: int, dtype: str, tflop_s: float) -> MatmulRate:
    return MatmulRate(
        m=m, n=1024, k=1024, dtype=dtype, kernel="linear", tflop_s=tflop_s, gb_s=1.0,  # type: ignore[arg-type]
        seconds=1e-3, seconds_p10=1e-3, seconds_p90=1e-3,
    )  # fmt: skip


def _found(kind: str = "cpu", dots: float | None = 0.125, **more: object) -> Measurement:
    return Measurement(
        name="here", device="a CPU", kind=kind, date="2026-11-30", host_cpu="a CPU",  # type: ignore[arg-type]
        versions={}, clocks={}, read_gb_s=30.0, weights_gb_s=15.0, kv_gb_s=3.0,
        launch_seconds=2e-6, dots_tflop_s=dots,
        matmuls=(
            _rate(1, "bf16", 0.01), _rate(512, "bf16", 0.6),
            _rate(1, "int8", 0.05), _rate(512, "int8", 0.2),
        ),
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_half_precision_goes_as_its_own_products() -> None:
    found = measured_device(_found(), 16, operators=10)
    assert found.bandwidth * found.reach.weights == pytest.approx(15e9)
    assert found.bandwidth * found.reach.cache == pytest.approx(3e9)
    assert (found.computing(1), found.computing(512)) == (0.01e12, 0.6e12)
    assert found.reach.layer_seconds == pytest.approx(10 * 2e-6)


def test_a_cpu_multiplies_narrow_weights_row_by_row() -> None:
    """One token at the rate of int8 weights from memory, a prompt at that of cached rows."""
    found = measured_device(_found(), 4.5, operators=0)
    assert found.computing(1) == 0.05e12
    assert found.computing(2) == found.computing(4096) == 0.125e12
    assert found.bandwidth * found.reach.cache == pytest.approx(30e9)
    # 33 operators of a layer in ggml's graph, two microseconds each
    assert found.reach.layer_seconds == pytest.approx(66e-6)


def test_other_devices_widen_narrow_weights_for_all_tokens() -> None:
    found = measured_device(_found(kind="cuda"), 4.5, operators=0)
    assert (found.computing(1), found.computing(512)) == (0.05e12, 0.2e12)
    assert found.reach.layer_seconds == 0


def test_a_measurement_without_a_bandwidth_predicts_nothing() -> None:
    with pytest.raises(ImpossibleError, match="bandwidth"):
        measured_device(Measurement(
            name="here", device="a CPU", kind="cpu", date="2026-11-30", host_cpu="a CPU",
            versions={}, clocks={},
        ), 16, operators=0)  # fmt: skip

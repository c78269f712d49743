"""Peak rates of matrix units from what TechPowerUp's pages say: units and boost clock.

NVIDIA's white papers give FLOP a multiprocessor does in one clock; the pages give multiprocessors
and clock. The same rule gives the published rates of the GPUs in the open data: 71 TFLOP/s for an
RTX 3090 (82 × 512 × 1.695 GHz), 154.8 for an RTX A6000 (84 × 1024 × 1.8 GHz).
"""

from __future__ import annotations

import re

from gpu_wording import Row

MEMORY_RATE = {
    "GDDR5": 4, "GDDR5X": 8, "GDDR6": 8, "GDDR6X": 16, "GDDR7": 16,
    "HBM2": 2, "HBM2e": 2, "HBM3": 4,
}  # fmt: skip
"""Bits a pin moves in one period of the clock that the pages print, by memory."""

_NVIDIA = "tensor rates = multiprocessors x FLOP a clock (white paper) x boost clock (TechPowerUp)"
_UNITS = "matrix rates = compute units x FLOP a clock x boost clock (TechPowerUp)"
DERIVED = {
    "bandwidth": "bandwidth = memory clock x bus width of the TechPowerUp page, which rounds it",
    "WPTURING": _NVIDIA, "WPVOLTA": _NVIDIA, "WPGA100": _NVIDIA, "WPGA102": _NVIDIA,
    "WPADA": _NVIDIA, "WPRTXBW": _NVIDIA,
    "WPHOPPER": "tensor rates = those of the H100 of its form",
    "ORINDS": "fp16, int8 = multiprocessors x 2048, 4096 x boost clock: half the sparse rates",
    "RDNA3": _UNITS, "RDNA4": _UNITS,
    "XMX": "fp16 = XMX units x operations a clock x boost clock",
    "CDNA1": "", "DP4A": "int8 = four times fp32 (dp4a instruction)",
}  # fmt: skip
"""What `derived` of a spec says, by the same codes."""

_TENSOR: dict[str, tuple[str, int, dict[str, float]]] = {
    "Volta": ("WPVOLTA", 1024, {"fp16_dense": 1}),
    "Turing": ("WPTURING", 1024, {"fp16_dense": 1, "int8_dense_tops": 2}),
    "Ampere": ("WPGA102", 1024, {"fp16_dense": 1, "bf16_dense": 1, "tf32_dense": 0.5,
                                 "int8_dense_tops": 2}),
    "Ada Lovelace": ("WPADA", 1024, {"fp16_dense": 1, "bf16_dense": 1, "tf32_dense": 0.5,
                                     "fp8_dense": 2, "int8_dense_tops": 2}),
    "Blackwell 2.0": ("WPRTXBW", 1024, {"fp16_dense": 1, "bf16_dense": 1, "tf32_dense": 0.5,
                                        "fp8_dense": 2, "int8_dense_tops": 2, "fp4_dense": 4}),
}  # fmt: skip
"""FLOP of a multiprocessor a clock at FP16, and other formats relative to it."""
_HALVED = {"fp16_dense", "bf16_dense", "tf32_dense", "fp8_dense"}
"""What GeForce cards do at half rate, since they accumulate in FP32."""
_HOPPER = {
    "SXM5": {"tf32_dense": "494.5", "fp16_dense": "989", "bf16_dense": "989", "fp8_dense": "1979",
             "int8_dense_tops": "1979"},
    "PCIe": {"tf32_dense": "378", "fp16_dense": "756", "bf16_dense": "756", "fp8_dense": "1513",
             "int8_dense_tops": "1513"},
}  # fmt: skip
_XMX = {"Xe-HPG": 128 / 8, "Xe2-HPG": 256 / 16}
"""FP16 operations a clock for one shader of the pages: of an XMX, over the shaders beside it."""
_CUT = re.compile(r"^L20$|Quadro GV100|5090 D$|Jetson (?!Orin|AGX Orin)|Max 1100")
"""Whose matrix rates the pages do not tell: export cards, other clocks, other units."""


def rates(page: Row) -> tuple[Row, str]:
    """Columns of rates, and the code of the rule that gave those of the matrix units."""
    found = {"fp32_tflops": _tera(float(page["single_float_performance_gflop_s"]) * 1e9)}
    matrix, code = _matrix(page)
    if not matrix and _has_half(page) and not _CUT.search(page["name"]):
        matrix = {"fp16_dense": _tera(float(page["half_float_performance_gflop_s"]) * 1e9)}
    return found | matrix, code


def _matrix(page: Row) -> tuple[Row, str]:
    if _CUT.search(page["name"]):
        return {}, ""
    if page["manufacturer"] == "NVIDIA":
        return _nvidia(page)
    return _others(page, int(page["shading_units"]) * float(page["boost_clock_mhz"]) * 1e6)


def _nvidia(page: Row) -> tuple[Row, str]:
    name, architecture = page["name"], page["architecture"]
    step = int(page["streaming_multiprocessors"]) * float(page["boost_clock_mhz"]) * 1e6
    found: tuple[Row, str] = {}, ""
    if architecture == "Hopper":
        found = _HOPPER["SXM5" if "SXM" in name else "PCIe"], "WPHOPPER"
    elif "Orin" in name:
        orin = {"fp16_dense": _tera(2048 * step), "int8_dense_tops": _tera(4096 * step)}
        found = orin, "ORINDS"
    elif page["gpu_name"] == "GA100":
        found = _scaled(_TENSOR["Ampere"][2], 2048 * step, halved=False), "WPGA100"
    elif architecture in _TENSOR and int(page["tensor_cores"] or 0):
        code, flop, formats = _TENSOR[architecture]
        half = name.startswith("GeForce") and architecture != "Volta"
        found = _scaled(formats, flop * step, halved=half), code
    elif architecture == "Pascal" and page["gpu_name"] != "GP100":
        single = float(page["single_float_performance_gflop_s"]) * 1e9
        found = {"int8_dense_tops": _tera(4 * single)}, "DP4A"
    return found


def _others(page: Row, step: float) -> tuple[Row, str]:
    """Rates of AMD and Intel; `step` is shaders times clock."""
    architecture = page["architecture"]
    found: tuple[Row, str] = {}, ""
    if architecture == "CDNA 1.0":
        mi100 = {"fp16_dense": "184.6", "bf16_dense": "92.3", "int8_dense_tops": "184.6"}
        found = mi100, "CDNA1"
    elif architecture == "RDNA 4.0":
        one, two = _tera(16 * step), _tera(32 * step)
        both = {"fp16_dense": one, "bf16_dense": one}
        found = both | {"fp8_dense": two, "int8_dense_tops": two}, "RDNA4"
    elif architecture.startswith("RDNA 3"):
        found = {"fp16_dense": _tera(8 * step), "bf16_dense": _tera(8 * step)}, "RDNA3"
    elif architecture in _XMX:
        units = _tera(_XMX[architecture] * step)
        found = {"fp16_dense": units, "bf16_dense": units}, "XMX"
    return found


def _scaled(formats: dict[str, float], flops: float, *, halved: bool) -> Row:
    """Rates of each format; what a GeForce halves is halved."""
    return {
        name: _tera(flops * times * (0.5 if halved and name in _HALVED else 1))
        for name, times in formats.items()
    }


def _has_half(page: Row) -> bool:
    """Whether half precision is of use: Pascal's GeForce chips do a sixty-fourth of FP32."""
    half, single = page["half_float_performance_gflop_s"], page["single_float_performance_gflop_s"]
    return bool(half) and float(half) >= float(single)


def _tera(flops: float) -> str:
    """TFLOP/s with four digits."""
    return f"{float(f'{flops / 1e12:.4g}'):g}"

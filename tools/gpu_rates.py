"""Peak rates of matrix units from what TechPowerUp's pages say: units and boost clock.

NVIDIA's white papers give FLOP a multiprocessor does in one clock; the pages give multiprocessors and
clock. The same rule gives the published rates of the GPUs in the open data: 71 TFLOP/s for an RTX 3090
(82 × 512 × 1.695 GHz), 154.8 for an RTX A6000 (84 × 1024 × 1.8 GHz).
"""

from __future__ import annotations

import re

from gpu_wording import Row

MEMORY_RATE = {
    "GDDR5": 4, "GDDR5X": 8, "GDDR6": 8, "GDDR6X": 16, "GDDR7": 16, "HBM2": 2, "HBM2e": 2, "HBM3": 4,
}  # fmt: skip
"""Bits a pin moves in one period of the clock that the pages print, by memory."""

SOURCES = {
    "TPU": "TechPowerUp",
    "WPTURING": "https://images.nvidia.com/aem-dam/en-zz/Solutions/design-visualization/technologies/turing-architecture/NVIDIA-Turing-Architecture-Whitepaper.pdf",
    "WPVOLTA": "https://images.nvidia.com/content/volta-architecture/pdf/volta-architecture-whitepaper.pdf",
    "WPGA100": "https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/nvidia-ampere-architecture-whitepaper.pdf",
    "WPGA102": "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.1.pdf",
    "WPADA": "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf",
    "WPRTXBW": "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf",
    "WPHOPPER": "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper",
    "ORINDS": "Jetson Orin data sheets quoted in stored files 45013109198 and 68815958733 (sparse INT8 rates of the GPU)",
    "RDNA3": "https://gpuopen.com/learn/wmma_on_rdna3/ (512 FLOP a compute unit and clock)",
    "RDNA4": "https://www.amd.com/en/products/graphics/workstations/radeon-ai-pro/ai-9000-series/amd-radeon-ai-pro-r9700.html (191 TFLOP/s FP16 matrix, 383 FP8)",
    "CDNA1": "https://www.amd.com/content/dam/amd/en/documents/instinct-business-docs/white-papers/amd-cdna-white-paper.pdf",
    "XMX": "https://www.intel.com/content/www/us/en/developer/articles/technical/introduction-to-the-xe-hpg-architecture.html (128 FP16 operations an XMX and clock; 256 since Xe2)",
    "APPLE": "stored files 70585980053, 71069986434, 56751281695 (bandwidth per chip and bin; each cites the Apple newsroom/support page)",
    "APPLECORES": "https://en.wikipedia.org/wiki/Apple_silicon (GPU cores of each bin)",
    "HF": "https://github.com/huggingface/huggingface.js/tree/fe42e68017ffc76d09922ea8f9b38a6964345710/packages/tasks/src (hardware.ts; 2026-08-21)",
    "PHOENIX": "https://www.techpowerup.com/gpu-specs/ryzen-z2-gpu.c4303 (the same chip sold as Ryzen Z2: LPDDR5X, 119.9 GB/s); https://cputronic.com/cpu/amd-ryzen-7-7840u (LPDDR5x-7500)",
    "STRIX": "https://www.techpowerup.com/gpu-specs/ryzen-z2-extreme-gpu.c4304 (the same chip sold as Ryzen Z2 Extreme: LPDDR5X-8000, 128 bit, 128 GB/s)",
    "HALO": "https://www.svethardware.cz/amd-predstavuje-ryzen-ai-max-strix-halo-s-az-16-jadry-a-gpu-se-40-cu/61477 (LPDDR5x-8000, 256 bit, 256 GB/s)",
}  # fmt: skip
"""Where the numbers of a row were read, by the code in its source columns."""

_NVIDIA = "tensor rates = multiprocessors x FLOP a clock (white paper) x boost clock (TechPowerUp)"
_UNITS = "matrix rates = compute units x FLOP a clock x boost clock (TechPowerUp)"
DERIVED = {
    "bandwidth": "bandwidth = memory clock x bus width of the TechPowerUp page, which rounds it",
    "WPTURING": _NVIDIA, "WPVOLTA": _NVIDIA, "WPGA100": _NVIDIA, "WPGA102": _NVIDIA,
    "WPADA": _NVIDIA, "WPRTXBW": _NVIDIA, "WPHOPPER": "tensor rates = those of the H100 of its form",
    "ORINDS": "fp16 and int8 = multiprocessors x 2048 and 4096 x boost clock, half the sparse rates",
    "RDNA3": _UNITS, "RDNA4": _UNITS, "XMX": "fp16 = XMX units x operations a clock x boost clock",
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
_CUT = re.compile(r"^L20$|Quadro GV100|Jetson (?!Orin|AGX Orin)")
"""Whose tensor rates are not those of their units: export cards, cards with other clocks."""


def rates(page: Row) -> tuple[Row, str]:
    """Columns of rates, and the code of the rule that gave those of the matrix units."""
    found = {"fp32_tflops": _tera(float(page["single_float_performance_gflop_s"]) * 1e9)}
    matrix, code = _matrix(page)
    if not matrix and _has_half(page):
        matrix = {"fp16_dense": _tera(float(page["half_float_performance_gflop_s"]) * 1e9)}
    return found | matrix, code


def _matrix(page: Row) -> tuple[Row, str]:
    name, architecture = page["name"], page["architecture"]
    clock = float(page["boost_clock_mhz"]) * 1e6
    shaders, multiprocessors = int(page["shading_units"]), int(page["streaming_multiprocessors"])
    if _CUT.search(name):
        return {}, ""
    if architecture == "Hopper":
        return _HOPPER["SXM5" if "SXM" in name else "PCIe"], "WPHOPPER"
    if "Orin" in name:
        step = multiprocessors * clock
        return {"fp16_dense": _tera(2048 * step), "int8_dense_tops": _tera(4096 * step)}, "ORINDS"
    if page["gpu_name"] == "GA100":
        code, flop, formats = "WPGA100", 2048, _TENSOR["Ampere"][2]
        return _scaled(formats, flop * multiprocessors * clock, halved=False), code
    if architecture in _TENSOR and int(page["tensor_cores"] or 0):
        code, flop, formats = _TENSOR[architecture]
        half = name.startswith("GeForce") and architecture != "Volta"
        return _scaled(formats, flop * multiprocessors * clock, halved=half), code
    if architecture == "Pascal" and page["gpu_name"] != "GP100":
        return {"int8_dense_tops": _tera(8 * shaders * clock)}, "DP4A"
    if architecture == "RDNA 4.0":
        one = 16 * shaders * clock
        both = {"fp16_dense": _tera(one), "bf16_dense": _tera(one)}
        return both | {"fp8_dense": _tera(2 * one), "int8_dense_tops": _tera(2 * one)}, "RDNA4"
    if architecture.startswith("RDNA 3"):
        one = _tera(8 * shaders * clock)
        return {"fp16_dense": one, "bf16_dense": one}, "RDNA3"
    if architecture == "CDNA 1.0":
        return {"fp16_dense": "184.6", "bf16_dense": "92.3", "int8_dense_tops": "184.6"}, "CDNA1"
    if architecture in {"Xe-HPG", "Xe2-HPG"}:
        units = shaders // (8 if architecture == "Xe-HPG" else 16)
        one = _tera(units * (128 if architecture == "Xe-HPG" else 256) * clock)
        return {"fp16_dense": one, "bf16_dense": one}, "XMX"
    return {}, ""


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

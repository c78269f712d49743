"""What rows of several kinds configure alike: formats, devices and how they share a model."""

from __future__ import annotations

import re

from llmcalc.checks.measured.case import Aspect
from llmcalc.checks.measured.cells import number, text, whole
from llmcalc.checks.measured.formats import kv_formats, weight_format
from llmcalc.checks.measured.gpu_names import gpu
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.gpu import GpuSpec

GIB = 2**30
Missing = dict[Aspect, str]


_BESIDE = re.compile(r"\+\s*(mtp|e?lora|adapters?|draft|eagle\d?)", re.IGNORECASE)
"""What a model's name says is loaded beside it."""


def weights(config: Cells, column: str, missing: Missing) -> str:
    """The weight format, or 16 bits and a note that it is not known."""
    if beside := _BESIDE.search(config.get("model", "")):
        missing["weights"] = f"what is loaded beside the model ({beside[0]}) is not stated"
    try:
        return weight_format(text(config, column), config.get("model", ""))
    except Unusable as why:
        missing.setdefault("weights", str(why))
        return "bf16"


def cache(config: Cells, column: str, missing: Missing) -> tuple[str, str]:
    """Formats of keys and values, or 16 bits and a note that they are not known."""
    try:
        return kv_formats(text(config, column))
    except Unusable as why:
        missing["cache"] = str(why)
        return "bf16", "bf16"


def device(config: Cells, missing: Missing) -> tuple[GpuSpec | None, int | None]:
    """The GPU and the bytes that the row states for it; one of them at least, or a note."""
    stated, name = number(config, "gpu_total_gib"), text(config, "gpu")
    found = gpu(name)
    if not stated and found is None:
        missing["room"] = f"GPU {name!r} is not in the catalog" if name else "the GPU is not named"
    return found, int(stated * GIB) if stated else None


def ranks(written: str | None, tp: int) -> int:
    """Expert-parallel ranks of `EP4`, `EP` or `DP/EP`: the tensor ranks unless it says how many."""
    match = re.search(r"EP(\d*)", (written or "").upper())
    return int(match[1] or tp) if match else 1


def split(config: Cells) -> tuple[int, int]:
    """Tensor and pipeline ranks of `TP2 PP2`, or of as many GPUs as there are."""
    written = (text(config, "parallelism") or "").upper()
    found = {name: int(count) for name, count in re.findall(r"(TP|PP)\s*=?\s*(\d+)", written)}
    if found:
        return found.get("TP", 1), found.get("PP", 1)
    return whole(config, "n_gpu") or 1, 1

"""Where GPU specs stand; apart from the cards, so that a command loads only what it asks for."""

from __future__ import annotations

from llmcalc.catalog.shelf import Shelf
from llmcalc.spec.gpu import GpuSpec

GPUS: Shelf[GpuSpec] = Shelf(kind=GpuSpec, word="GPU", folder="gpu_specs", variable="LLMCALC_GPUS")

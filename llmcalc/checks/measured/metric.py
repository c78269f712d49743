"""One number that an engine prints: where it stands in a row, and which of ours it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from llmcalc.checks.measured.case import Aspect, Prediction
from llmcalc.checks.measured.cells import leading, number, signed, text
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable

GIB, MIB = 2**30, 2**20
STARTED = frozenset({"fits", "started", "ok", "yes"})
"""Words of an outcome that began to serve."""
DECIMAL = ("litgpt", "torchtune")
"""Training frameworks whose logs divide bytes by 10^9 (litgpt finetune/lora.py, "Memory used";
torchtune utils/memory.py, get_memory_stats)."""

Measured = Callable[[Cells], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number of a row."""

    name: str
    measured: Measured
    """From all cells of a row, in its own unit; None: not recorded. Raises Unusable."""
    predicted: Callable[[Prediction], float | None]
    needs: tuple[Aspect, ...]
    """What a configuration must tell for it."""
    how: str
    """How it is predicted, in words."""
    of_room: bool = False
    """Whether it says how much room there was, which settings that no column tells change."""


def cell(column: str) -> Measured:
    """A number above 0: engines that did not log a size leave it empty, or 0."""
    return lambda cells: number(cells, column) or None


def room(column: str) -> Measured:
    """Room for a cache; where there is none, the start failed, which is another metric."""

    def measured(cells: Cells) -> float | None:
        value = signed(cells, column)
        if value is not None and (number(cells, "pp") or 1) > 1:
            raise Unusable("it is not stated which stage printed it")
        if value is not None and value <= 0:
            raise Unusable("no room for a cache: scored as an outcome")
        return value

    return measured


def outcome(cells: Cells) -> float | None:
    """1 where it started, 0 where it did not."""
    word = text(cells, "outcome")
    return None if word is None else float(word.lower().split()[0] in STARTED)


def fits(found: Prediction) -> float | None:
    """1 where we say that it starts, 0 where not."""
    return None if found.fits is None else float(found.fits)


def tokens(cells: Cells) -> float | None:
    """Tokens of a cache: as printed, else its blocks times their size."""
    blocks = (number(cells, "gpu_blocks") or 0) * (number(cells, "block_size") or 0)
    return number(cells, "kv_tokens") or blocks or None


def vllm_token(cells: Cells) -> float | None:
    """Bytes of a token, of what vLLM left for the cache and how many it holds."""
    if (number(cells, "pp") or 1) > 1:
        raise Unusable("the room is that of one stage, the tokens are those of the tightest")
    left, held = signed(cells, "kv_avail_gib"), tokens(cells)
    return left * GIB / held if left and left > 0 and held else None


def size(cells: Cells) -> float | None:
    """GiB of a file, of `4.58 GiB (4.89 BPW)`."""
    return leading(cells.get("model_size", "")) or None


_TERMS = ("weights_gib", "non_torch_gib", "activation_peak_gib", "kv_avail_gib")
"""What vLLM prints as parts of its share of the memory."""


def impossible(cells: Cells) -> str:
    """In words, that a row's own numbers cannot be together; empty if they can."""
    total, share = number(cells, "gpu_total_gib"), number(cells, "gpu_memory_utilization")
    terms = [signed(cells, column) or 0.0 for column in _TERMS]
    if total and share and sum(terms) > 1.005 * total * share:
        return "impossible: its parts are more than the share of the memory"
    return ""


def sglang_cache(cells: Cells) -> float | None:
    """GiB of the pool: as printed, else keys and values."""
    keys, values = number(cells, "k_gb"), number(cells, "v_gb")
    return number(cells, "kv_gb") or (keys + values if keys and values else None)


def sglang_token(cells: Cells) -> float | None:
    """Bytes of a token, of SGLang's pool and how many it holds."""
    pool, held = sglang_cache(cells), number(cells, "kv_tokens")
    return pool * GIB / held if pool and held else None


def on_device(cells: Cells) -> float | None:
    """MiB of weights on the devices; more than the whole file are several loads in one log."""
    found, whole = number(cells, "model_buf_dev_mib"), size(cells)
    if found and whole and found > 1.01 * whole * GIB / MIB:
        raise Unusable("more than the whole file: several loads in one log")
    return found or None


def graph(cells: Cells) -> float | None:
    """MiB of compute buffers on devices; a device that stands twice is a second context."""
    names = re.findall(r"(\w+)=", cells.get("compute_bufs", ""))
    if len(names) != len(set(names)):
        raise Unusable("compute buffers of several contexts in one log")
    return number(cells, "compute_buf_dev_mib") or None


def speed(name: str) -> Measured:
    """The value of a row that is about this metric."""
    return lambda cells: number(cells, "value") if cells.get("metric") == name else None


def step_gib(cells: Cells) -> float | None:
    """GiB of a training step; the middle where nobody says whether a GB is decimal or binary."""
    low, high = number(cells, "mem_gib_low"), number(cells, "mem_gib_high")
    if low and (text(cells, "framework") or "").lower().startswith(DECIMAL):
        return low
    return (low * high) ** 0.5 if low and high else None


def ran(cells: Cells) -> float | None:
    """1 where a training run ran, 0 where a GPU was too small. Raises Unusable for other ends."""
    word = (text(cells, "outcome") or "").lower()
    if word.startswith(("host", "ok then")):
        raise Unusable(f"not a step that ran out: {word}")
    return outcome(cells)


def scaled(name: str, unit: int) -> Callable[[Prediction], float | None]:
    """A field of the prediction in the unit of a metric."""

    def predicted(found: Prediction) -> float | None:
        value: int | None = getattr(found, name)
        return None if value is None else value / unit

    return predicted

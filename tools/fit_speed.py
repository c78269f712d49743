"""Fit what llama.cpp reaches of a device's peaks on public decode and prefill rows.

Usage: python tools/fit_speed.py            (writes llmcalc/efficiency/llama.cpp.yaml)

seconds a token = weights / (bandwidth · w) + experts / (bandwidth · e)
                + cache / (bandwidth · c) + layers · t
is linear in 1/w, 1/e, 1/c and t, which are fitted by least squares of the relative error, none of
them negative, on the rows of llmcalc/measurements/decode.tsv: for each GPU with enough rows, and
for kinds of GPUs together, whose error is that on GPUs that were left out.
"""

from __future__ import annotations

import pathlib
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import numpy as np

from llmcalc.blueprint import lower
from llmcalc.catalog.data import quantization
from llmcalc.checks.measured.cases import case
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines.device import GB, peak_compute
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.engines.work import work
from llmcalc.engines.workload import Workload
from llmcalc.spec.gpu import GpuSpec

ROOT = pathlib.Path(__file__).parents[1] / "llmcalc"
DATA, TARGET = ROOT / "measurements" / "decode.tsv", ROOT / "efficiency" / "llama.cpp.yaml"
COLUMNS = ("weights", "experts", "cache_plain", "cache", "layer_seconds")
LEAST = {name: 0.0 if name == "layer_seconds" else 1.0 for name in COLUMNS}
SEEN = 0.03
"""Share of the time that a column must have in some row, to be fitted."""
UNSEEN = {"cache_plain": 1 / 0.35, "cache": 1 / 0.6}
"""What stands for caches too small to be seen: medians of the GPUs that show theirs."""
ENOUGH = 4
"""Decode rows of one GPU that are worth a class of its own."""
BOUNDED = 1.05
"""Of the peak bandwidth; a row above it is no decode rate."""


@dataclass(frozen=True)
class Row:
    """One public row: what the step reads, in seconds at the peak, and how long it took."""

    id: str
    gpu: GpuSpec
    model: str
    phase: str
    features: tuple[float, ...]
    seconds: float
    computed: float
    """Seconds of all FLOPs at the peak rate."""
    devices: int
    """That hold layers behind each other."""


@dataclass(frozen=True)
class Kind:
    """GPUs that are fitted together, and how the file tells them."""

    devices: str
    applies: object
    words: str


GEFORCE = ("rtx-2", "rtx-30", "rtx-40", "rtx-50", "titan")
KINDS = (
    Kind("{vendors: [Apple]}", lambda g: g.vendor == "Apple", "Apple silicon"),
    Kind("{vendors: [NVIDIA], memory: [HBM]}",
         lambda g: g.vendor == "NVIDIA" and _memory(g, "HBM"), "NVIDIA with HBM"),
    Kind("{vendors: [NVIDIA], architectures: [Pascal, Maxwell, Volta]}",
         lambda g: g.architecture in ("Pascal", "Maxwell"), "NVIDIA before tensor cores"),
    Kind("{vendors: [NVIDIA], starts: [rtx-2, rtx-30, rtx-40, rtx-50, titan]}",
         lambda g: g.vendor == "NVIDIA" and g.name.startswith(GEFORCE) and "ada" not in g.name,
         "GeForce"),
    Kind("{vendors: [NVIDIA], memory: [LPDDR]}",
         lambda g: g.vendor == "NVIDIA" and _memory(g, "LPDDR"), "NVIDIA with unified memory"),
    Kind("{vendors: [NVIDIA]}", lambda g: g.vendor == "NVIDIA" and _memory(g, "GDDR"),
         "NVIDIA for workstations and servers"),
    Kind("{memory: [LPDDR]}", lambda g: g.vendor != "Apple" and _memory(g, "LPDDR"),
         "other unified memory"),
    Kind("{vendors: [AMD, Intel]}", lambda g: g.vendor in ("AMD", "Intel"), "AMD and Intel"),
)  # fmt: skip


def _memory(gpu: GpuSpec, start: str) -> bool:
    return (gpu.memory.type or "").startswith(start)


def rows() -> list[Row]:
    """Every row of llama.cpp whose configuration is known."""
    f16 = KvFormats(keys=KV_FORMATS["fp16"], values=KV_FORMATS["fp16"])
    found = []
    for row in read(str(DATA)):
        try:
            asked = case(row.kind.name, row.config)
        except Unusable:
            continue
        run, gpu = asked.run, asked.gpu
        if asked.missing or run is None or gpu is None or run.phase == "load":
            continue
        rate, peak = gpu.memory.bandwidth_gb_s, peak_compute(gpu, 16)
        if not asked.runtime.startswith("llama.cpp") or rate is None or peak is None:
            continue
        decode = run.phase == "decode"
        query = 1 if decode else run.prompt
        step = work(
            lower(asked.card, absorbed=decode), format=quantization(asked.weights), formats=f16,
            workload=Workload(
                phase=run.phase, batch=run.batch or 1, query=query,
                context=max(run.context, query),
            ),
        )  # fmt: skip
        speed = float(row.measured["value"])
        seconds = query * (run.batch or 1) / speed if not decode else (run.batch or 1) / speed
        plain = [one.bytes for one in step.products if not one.experts]
        experts = [one.bytes for one in step.products if one.experts]
        flash = asked.settings.flash_attn is not False
        at_peak = [size / (rate * GB) for size in (
            sum(plain), sum(experts), 0 if flash else step.cache_bytes,
            step.cache_bytes if flash else 0,
        )]  # fmt: skip
        if decode and sum(at_peak) / seconds > BOUNDED:
            continue
        found.append(
            Row(id=row.id, gpu=gpu, model=f"{asked.card.name} {asked.weights}", phase=run.phase,
                features=(*at_peak, step.layers), seconds=seconds, computed=step.flops / peak,
                devices=run.layer_split)
        )  # fmt: skip
    return found


def fit(rows: list[Row], given: dict[str, float] | None = None) -> dict[str, float]:
    """Seconds a unit of each column, those of `given` as they are.

    Nothing is read faster than the peak, no layer takes less than nothing.
    """
    fixed = dict(given or {})
    t = np.array([row.seconds for row in rows])
    a = np.array([row.features for row in rows]) / t[:, None]
    has = {name for n, name in enumerate(COLUMNS) if a[:, n].max() > SEEN}
    fixed = {name: value for name, value in UNSEEN.items() if name not in has} | fixed
    while True:
        y = np.ones(len(rows)) - sum(
            a[:, COLUMNS.index(name)] * value for name, value in fixed.items()
        )
        free = [name for name in COLUMNS if name in has and name not in fixed]
        if not free:
            return fixed
        x = np.linalg.lstsq(a[:, [COLUMNS.index(name) for name in free]], y, rcond=None)[0]
        below = {
            name: LEAST[name] for name, value in zip(free, x, strict=True) if value < LEAST[name]
        }
        if not below:
            return fixed | dict(zip(free, map(float, x), strict=True))
        fixed |= below


def predicted(row: Row, found: dict[str, float]) -> float:
    """Seconds of a row; weights where experts were not fitted apart."""
    return sum(
        value * found.get(name, found.get("weights", 0.0) if name == "experts" else
                          found.get("cache_plain" if name == "cache" else "cache", 0.0)
                          if name.startswith("cache") else 0.0)
        for name, value in zip(COLUMNS, row.features, strict=True)
    )  # fmt: skip


def errors(rows: list[Row], found: dict[str, float]) -> list[float]:
    """Relative errors, unsigned."""
    return [abs(predicted(row, found) / row.seconds - 1) for row in rows]


def by_gpu(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows of each GPU."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.gpu.name].append(row)
    return dict(found)


def left_out(groups: dict[str, list[Row]]) -> list[float]:
    """Errors on each GPU of what the others of its kind say."""
    found = []
    for name, own in groups.items():
        others = [row for other, rows in groups.items() if other != name for row in rows]
        if others:
            found += errors(own, fit(others))
    return found


def balanced(groups: dict[str, list[Row]]) -> list[Row]:
    """As many rows of each GPU as of the one with fewest, but some: none decides alone."""
    most = max(ENOUGH, min(len(rows) for rows in groups.values()))
    return [row for rows in groups.values() for row in rows[:: max(1, len(rows) // most)]]


def compute(rows: list[Row]) -> float | None:
    """Share of the peak rate that prompts reach, the median; of one device where there are rows."""
    prefills = [row for row in rows if row.phase == "prefill"]
    alone = [row for row in prefills if row.devices == 1]
    shares = [row.computed / row.seconds for row in alone or prefills]
    return median(shares) if shares else None


def larger_from_smaller(rows: list[Row]) -> list[float]:
    """Errors on Llama-3-70B of what rows of Llama-3-8B on the same GPU say."""
    found = []
    for own in by_gpu([row for row in rows if row.phase == "decode"]).values():
        small = [row for row in own if row.model.startswith("llama3-8b")]
        large = [row for row in own if row.model.startswith("llama3-70b")]
        if large and len({row.model for row in small}) > 1:
            found += errors(large, fit(small))
    return found


def written(every: list[Row]) -> str:
    """The file."""
    decode = [row for row in every if row.phase == "decode"]
    lines = [HEAD]
    pooled: list[str] = []
    left = every
    for kind in KINDS:
        prefills = [row for row in left if kind.applies(row.gpu)]
        left = [row for row in left if not kind.applies(row.gpu)]
        groups = by_gpu([row for row in prefills if row.phase == "decode"])
        if not groups:
            continue
        together = fit(balanced(groups))
        reached = compute(prefills)
        out = left_out(groups)
        whole = [row for rows in groups.values() for row in rows]
        for name, own in sorted(groups.items()):
            if len(own) < ENOUGH:
                continue
            several = len(own) >= 2 * ENOUGH and len({row.model for row in own}) > 1
            given = {} if several else {"layer_seconds": together.get("layer_seconds", 0.0)}
            own_compute = compute([row for row in every if row.gpu.name == name]) or reached
            lines.append(_class(f"{{names: [{name}]}}", fit(own, given), own_compute, own,
                                errors(own, fit(own, given)),
                                f"{len(own)} decode rows of this GPU"))  # fmt: skip
        said = f"{len(whole)} decode rows of {len(groups)} GPUs, {kind.words}"
        said += "; the error is that on GPUs left out" if out else ""
        pooled.append(
            _class(kind.devices, together, reached, whole, out or errors(whole, together), said)
        )
    everything = fit(balanced(by_gpu(decode)))
    words = "all decode rows together; the error is that on GPUs left out"
    off = left_out(by_gpu(decode))
    pooled.append(_class("{}", everything, compute(every), decode, off, words))
    return "\n".join([*lines, *pooled]) + "\n"


HEAD = """\
# written by tools/fit_speed.py from llmcalc/measurements/decode.tsv; do not edit
name: llama.cpp
title: llama.cpp, one sequence or few
source: public rows of llama-bench and Ollama, llmcalc/measurements/decode.tsv
classes:"""


def _class(
    devices: str,
    found: dict[str, float],
    compute: float | None,
    rows: list[Row],
    off: list[float],
    words: str,
) -> str:
    shares = {
        name: 1 / found[name] for name in COLUMNS if name != "layer_seconds" and name in found
    }
    shares.setdefault("weights", shares.get("experts", 0.8))
    lines = [f"  - devices: {devices}"]
    lines += [f"    {name}: {share:.3g}" for name, share in shares.items()]
    lines += [
        f"    compute: {compute or 0.3:.3g}",
        f"    layer_seconds: {found.get('layer_seconds', 0.0):.3g}",
        f"    n: {len(rows)}",
        f"    error_p50: {max(median(off), 0.001):.3g}",
        f"    source: {words}",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the file, and say how well larger models follow from smaller ones."""
    every = rows()
    TARGET.write_text(written(every), encoding="utf-8")
    off = larger_from_smaller(every)
    print(f"{len(every)} rows; 70B from 8B on the same GPU: median {median(off):.1%}, n {len(off)}")


if __name__ == "__main__":
    main()

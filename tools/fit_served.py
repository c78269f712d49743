"""Fit what TensorRT-LLM reaches of a device's peaks on its published full-load rows.

Usage: python tools/fit_served.py          (writes llmcalc/efficiency/tensorrt-llm.yaml)

The share of the bandwidth, the share of the compute and the time of a layer are searched on a grid
for the smallest median relative error on the rows `total_output_tok_s_max_load` of
llmcalc/measurements/decode.tsv. The error that is written is that on GPUs left out of the search.
"""

from __future__ import annotations

import pathlib
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import product
from statistics import median

from llmcalc.api.served import Load, serve
from llmcalc.api.setup import setup
from llmcalc.checks.measured.cases import case
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.errors import LlmcalcError
from llmcalc.planner.pace import Served
from llmcalc.spec.efficiency import Reach

ROOT = pathlib.Path(__file__).parents[1] / "llmcalc"
DATA, TARGET = ROOT / "measurements" / "decode.tsv", ROOT / "efficiency" / "tensorrt-llm.yaml"
GRID = (
    (0.6, 0.7, 0.8, 0.9, 1.0),
    (0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    (1e-5, 2e-5, 4e-5, 8e-5, 1.2e-4, 1.6e-4),
)
"""Shares of bandwidth and compute, seconds of a layer."""
STEP = 1e-3
"""Seconds of a step, which full load does not show: as in served.yaml."""


@dataclass(frozen=True)
class Row:
    """One published throughput, and the model as it was served."""

    id: str
    served: Served
    batch: int
    load: Load
    measured: float


def rows() -> list[Row]:
    """Every full-load row whose configuration is known."""
    found = []
    for row in read(str(DATA)):
        if row.config.get("metric") != "total_output_tok_s_max_load":
            continue
        try:
            asked = case(row.kind.name, row.config)
        except Unusable:
            continue
        run = asked.run
        if asked.missing or run is None or asked.gpu is None:
            continue
        chosen = setup(
            weights=asked.weights, kv=asked.keys, engine=asked.runtime, tp=asked.tp, pp=asked.pp,
            settings=asked.settings,
        )  # fmt: skip
        load = Load(batch=1, prompt=max(1, run.prompt), output=max(1, run.output))
        try:
            served, room = serve(asked.card, chosen, asked.gpu, load)
        except LlmcalcError:
            continue
        batch = min(room or 0, served.serving.settings.max_num_seqs or 1)
        if batch:
            measured = float(row.measured["value"])
            found.append(Row(row.id, served, batch, load, measured))
    return found


def error(row: Row, reach: Reach) -> float:
    """Relative error, unsigned."""
    served = replace(row.served, full=replace(row.served.device, reach=reach))
    rate = served.saturated(row.batch, row.load.prompt, row.load.output)
    return abs(rate / row.measured - 1)


def reaches() -> list[Reach]:
    """All points of the grid."""
    return [
        Reach(
            weights=w,
            cache=w,
            compute=c,
            layer_seconds=t,
            step_seconds=STEP,
            source="a grid",
        )
        for w, c, t in product(*GRID)
    ]


def main() -> None:
    """Search, and write the file."""
    every, grid = rows(), reaches()
    table = {n: [error(row, reach) for row in every] for n, reach in enumerate(grid)}
    groups: dict[str, list[int]] = defaultdict(list)
    for n, row in enumerate(every):
        groups[row.served.device.name].append(n)

    def best(chosen: list[int]) -> int:
        return min(table, key=lambda n: median(table[n][row] for row in chosen))

    out = []
    for name, own in groups.items():
        others = [n for other, rows in groups.items() if other != name for n in rows]
        out += [table[best(others)][row] for row in own]
    found = grid[best(list(range(len(every))))]
    TARGET.write_text(
        f"""# written by tools/fit_served.py from llmcalc/measurements/decode.tsv; do not edit
name: tensorrt-llm
title: TensorRT-LLM at full load
source: >-
  https://github.com/NVIDIA/TensorRT-LLM/blob/main/docs/source/performance/perf-overview.md
  (llmcalc/measurements/decode.tsv)
classes:
  - weights: {found.weights:g}
    cache: {found.cache:g}
    compute: {found.compute:g}
    layer_seconds: {found.layer_seconds:g}
    step_seconds: {STEP:g}
    n: {len(every)}
    error_p50: {median(out):.3g}
    source: >-
      {len(every)} full-load rows of {len(groups)} GPUs; the error is that on GPUs left out.
      Full load alone: one sequence is faster
""",
        encoding="utf-8",
    )
    inside = table[best(list(range(len(every))))]
    print(f"{len(every)} rows: median {median(inside):.1%}, on GPUs left out {median(out):.1%}")


if __name__ == "__main__":
    main()

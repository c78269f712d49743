"""Start-up of the two main commands, as ratios to importing typer and rich.

Usage: python benchmarks/startup.py [RUNS]. Runs are interleaved, so that a busy machine slows all
alike; medians of wall time, and the largest memory. The catalog's cache and Python's bytecode are
warm, as after a first run (pip writes the bytecode of what it installs).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

BASE = (sys.executable, "-c", "import typer, rich.console, rich.table")
LLMCALC = (os.path.join(os.path.dirname(sys.executable), "llmcalc"),)
COMMANDS: dict[str, tuple[tuple[str, ...], float]] = {
    "params llama2-7b": ((*LLMCALC, "params", "llama2-7b"), 1.3),
    "fit --gpu a100-80 --batch 16": ((*LLMCALC, "fit", "--gpu", "a100-80", "--batch", "16"), 2.5),
}
"""What is measured, and the ratio that it should stay within."""
WARM = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=WARM)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print a line a command: median milliseconds, ratio to the base, peak memory."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for command, _ in COMMANDS.values():
        run(command)
    base: list[float] = []
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        base.append(run(BASE)[0])
        for name, (command, _) in COMMANDS.items():
            found[name].append(run(command))
    print(f"import typer, rich: {1e3 * statistics.median(base):.0f} ms, {runs} runs")
    for name, (_, aim) in COMMANDS.items():
        walls = [wall for wall, _ in found[name]]
        ratio = statistics.median(wall / one for wall, one in zip(walls, base, strict=True))
        peak = max(memory for _, memory in found[name])
        median = 1e3 * statistics.median(walls)
        print(f"{name}: {median:.0f} ms, {ratio:.2f} times (aim {aim}), {peak:.0f} MiB")


if __name__ == "__main__":
    main()

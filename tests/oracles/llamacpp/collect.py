"""Ask the real llama.cpp about every shared architecture; its answers become rows.

    python -m tests.oracles.llamacpp.collect

from the root of the repository, with xllamacpp and gguf installed,
writes llmcalc/measurements/llamacpp_live.tsv anew. A refusal of the engine (a head of 80 in blocks
of 32, keys and values of a latent in different types) is no row.
"""

from __future__ import annotations

import csv
import datetime as dt
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from llmcalc.catalog import find
from tests.oracles.llamacpp.architectures import ARCHITECTURES, questions
from tests.oracles.llamacpp.engine import answers, ask

OUT = Path("llmcalc/measurements/llamacpp_live.tsv")
KIND = "F16"
COLUMNS = (
    "row_id", "source", "engine", "build", "model", "arch", "ftype", "n_ctx", "n_batch", "n_ubatch",
    "n_parallel", "kv_unified", "cache_type_k", "cache_type_v", "flash_attn", "params",
    "model_size", "kv_self_mib", "kv_pools", "state_mib", "compute_buf_mib", "output_buf_mib",
)  # fmt: skip


def rows() -> Iterator[dict[str, str]]:
    """One row an answer, in the order of the architectures."""
    engine, today = version("xllamacpp"), dt.datetime.now(tz=dt.UTC).date()
    same = {"source": f"xllamacpp {engine}, CPU build, dry run, {today}", "engine": "llama.cpp"}
    same |= {"build": engine.rsplit(".", 1)[-1], "ftype": KIND}
    number = 0
    for arch, cards in ARCHITECTURES.items():
        for card in cards:
            for question in questions(arch, first=card == cards[0]):
                answer = answers(ask(find.card(card), arch, question, kind=KIND))
                if not answer["compute_buf_mib"]:
                    sys.stderr.write(f"refused: {arch} {card} {question}\n")
                    continue
                number += 1
                asked = {name: str(value) for name, value in asdict(question).items()}
                asked.pop("embedding")
                yield (
                    {"row_id": f"lc{number:03}", "model": card, "arch": arch}
                    | same
                    | asked
                    | (answer)
                )


def main() -> None:
    """Write the file."""
    with OUT.open("w", encoding="utf-8", newline="") as sink:
        out = csv.DictWriter(sink, COLUMNS, delimiter="\t", lineterminator="\n")
        out.writeheader()
        for row in rows():
            out.writerow(row)


if __name__ == "__main__":
    main()

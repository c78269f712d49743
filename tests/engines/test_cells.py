"""llama.cpp's cache against its own logs: recorded dry runs, and logs that others published."""

from __future__ import annotations

import csv
from importlib import resources

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog import find
from llmcalc.engines.cells import Held, Slots, held
from llmcalc.engines.layer_split import share
from tests.llamacpp_rows import MIB, cache_differences

ROWS = list(
    csv.DictReader(
        (resources.files("llmcalc") / "measurements/llamacpp_live.tsv")
        .read_text(encoding="utf-8")
        .splitlines(),
        delimiter="\t",
    )
)


def cached(name: str, slots: Slots) -> Held:
    return held(lower(find.card(name)), slots)


@pytest.mark.parametrize("arch", sorted({row["arch"] for row in ROWS}))
def test_every_pool_and_state_is_what_the_engine_logs(arch: str) -> None:
    """Cells, keys, values, state and output buffer, to the hundredth of a MiB that is printed."""
    rows = [row for row in ROWS if row["arch"] == arch]
    found = {row["row_id"]: cache_differences(row) for row in rows}
    assert rows
    assert not {name: one for name, one in found.items() if one}


def test_rows_cover_what_changes_a_cache() -> None:
    assert len(ROWS) > 400
    for column in ("n_ctx", "n_ubatch", "n_parallel", "kv_unified", "cache_type_k", "flash_attn"):
        assert len({row[column] for row in ROWS}) > 1, column


def test_windowed_layers_of_gpt_oss_at_128k() -> None:
    """12 full layers 3,072 MiB, 12 of 768 cells 18 MiB (log of a CANN build, 2025)."""
    pools = cached("gpt-oss-20b", Slots(n_ctx=131072)).pools
    assert [(one.cells, one.layers, one.bytes / MIB) for one in pools] == [
        (131072, 12, 3072.0), (768, 12, 18.0),
    ]  # fmt: skip


def test_cells_of_builds_before_late_2025() -> None:
    """gpt-oss-120b at 2,000: 2,016 cells 70.88 MiB, 640 cells 22.50 (intel/AI-Playground 325)."""
    pools = cached("gpt-oss-120b", Slots(n_ctx=2000, pad=32, pad_window=False)).pools
    assert [(one.cells, round(one.bytes / MIB, 2)) for one in pools] == [(2016, 70.88), (640, 22.5)]


def test_recurrent_state_is_float32() -> None:
    """Qwen3.5-27B: 149.62 MiB a sequence, R 5.62 + S 144.00 (a log of 2026)."""
    assert round(cached("qwen3.5-27b", Slots()).state / MIB, 2) in (149.62, 149.63)


def test_a_context_is_shared_by_slots_and_padded_for_each() -> None:
    """5,000 over three slots: 5,120 / 3 = 1,706, in multiples of 256 is 1,792 each."""
    assert Slots(n_ctx=5000, n_parallel=3).cells == 1792
    assert Slots(n_ctx=5000, n_parallel=3, kv_unified=True).cells == 5120


def test_layers_of_one_device_cache_their_part() -> None:
    """Half the layers of a model of equal layers hold half; windows stay windows."""
    ledger = lower(find.card("gemma3-27b-text"))
    both = [share(ledger, ledger.order[:31]), share(ledger, ledger.order[31:])]
    assert sum(held(one, Slots()).cache for one in both) == held(ledger, Slots()).cache


POOLERS = ("bert",)
"""Architectures whose files leave out a layer that our cards count (BERT's pooler)."""


def test_the_engine_counts_our_parameters() -> None:
    """Files written from cards hold what the cards hold, to the digits that the engine prints."""
    different = {}
    for row in ROWS:
        if row["arch"] in POOLERS or row["model"] in different:
            continue
        count = text_parameters(row["model"])
        size, unit = next(one for one in ((1e12, "T"), (1e9, "B"), (1e6, "M")) if count >= one[0])
        different[row["model"]] = (f"{count / size:.2f} {unit}", row["params"])
    assert len(different) > 80
    assert not {name: pair for name, pair in different.items() if pair[0] != pair[1]}


def text_parameters(name: str) -> int:
    """Learned elements of the language model, tied weights once, towers left out."""
    return sum(
        weight.numel * section.times
        for section in lower(find.card(name)).sections
        if section.stream == "text"
        for operation in section.operations
        for weight in getattr(operation, "weights", ())
        if weight.learned or weight.component != "lm_head"
    )

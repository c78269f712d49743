"""Scores worked out by hand, and the promise that no prediction sees a measurement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcalc.checks.measured.case import Case, Prediction
from llmcalc.checks.measured.cases import case
from llmcalc.checks.measured.reading import Row, read, shipped
from llmcalc.checks.measured.score import Scored, scored
from llmcalc.checks.measured.statistics import quantile, summaries
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.errors import ImpossibleError

GIB = 2**30
FILES = {Path(path).stem: path for path in shipped()}
HERE = Prediction(
    weights=15 * GIB,
    kv_cache=256 * 2**20,
    activations=560 * 2**20,
    kv_bytes_per_token=131_072,
    stored=16 * GIB,
    kv_room=50 * GIB,
    kv_tokens=400_000,
    max_concurrency=50.0,
    fits=True,
    capacity=79 * GIB,
)


def _predict(asked: Case) -> Prediction:
    assert isinstance(asked, Case)
    return HERE


def _row(kind: str, config: dict[str, str], measured: dict[str, str], notes: str = "") -> Row:
    any_row = read(FILES[kind])[0]
    return replace(any_row, id="x", config=config, measured=measured, notes=notes)


VLLM = {
    "model": "Meta-Llama-3-8B", "model_stated": "stated", "weight_quant": "bf16",
    "gpu": "H100 80GB", "gpu_total_gib": "79.18", "gpu_memory_utilization": "0.9", "tp": "1",
    "engine": "V1", "version": "0.11.0",
}  # fmt: skip


def _scores(*rows: Row) -> dict[str, Scored]:
    return {one.metric: one for one in scored(rows, _predict)}


def test_errors_are_relative_and_signed() -> None:
    measured = {
        "weights_gib": "14.96", "kv_avail_gib": "40", "kv_tokens": "327680",
        "max_concurrency_x": "62.5", "outcome": "started",
    }  # fmt: skip
    found = _scores(_row("vllm", VLLM, measured))
    assert found["weights_gib"].error == pytest.approx(15 / 14.96 - 1)
    assert found["kv_avail_gib"].error == pytest.approx(0.25)
    assert found["kv_tokens"].error == pytest.approx(400_000 / 327_680 - 1)
    # 40 GiB over 327,680 tokens are 131,072 bytes a token.
    assert found["kv_bytes_per_token"].measured == 131_072
    assert found["kv_bytes_per_token"].error == 0
    assert found["max_concurrency_x"].error == pytest.approx(-0.2)
    assert (found["outcome"].measured, found["outcome"].error) == (1, 0)
    assert {one.group for one in found.values()} == {"vllm-v1"}


def test_blocks_are_tokens_where_none_are_printed() -> None:
    found = _scores(_row("vllm", VLLM | {"block_size": "16"}, {"gpu_blocks": "25000"}))
    assert (found["kv_tokens"].measured, found["kv_tokens"].error) == (400_000, 0)


def test_a_start_that_failed_and_was_said_to_fit_is_a_false_fit() -> None:
    rows = [
        _row("oom", {"engine": "vLLM", "model": "Llama-2-7B", "quant": "fp16", "gpu": "H100",
                     "n_gpu": "1", "max_model_len": str(length)}, {"outcome": outcome})
        for length, outcome in ((1_000, "oom_load"), (2_000, "fits"), (3_000, "kv_too_small"))
    ]  # fmt: skip
    (found,) = summaries(scored(rows, _predict))
    assert (found.n, found.false_fits, found.false_refusals) == (3, 2, 0)


def test_the_same_start_with_both_outcomes_tells_nothing() -> None:
    config = {"engine": "vLLM", "model": "Llama-2-7B", "quant": "fp16", "gpu": "H100"}
    rows = [_row("oom", config, {"outcome": outcome}) for outcome in ("fits", "oom_load", "fits")]
    (found,) = summaries(scored(rows, _predict))
    assert (found.n, found.skipped) == (0, 3)
    assert found.skipped_because == {"the same configuration started and failed": 3}


@pytest.mark.parametrize(
    ("kind", "config", "measured", "notes", "why"),
    [
        ("vllm", {"model_stated": "inferred"}, {"weights_gib": "1"}, "", "inferred"),
        ("vllm", {"model": "Foo-7B"}, {"weights_gib": "1"}, "", "'Foo-7B' is not in the catalog"),
        ("vllm", {"weight_quant": "exl3"}, {"weights_gib": "1"}, "", "exl3"),
        ("vllm", {"tp": "x"}, {"weights_gib": "1"}, "", "tp 'x' is no number"),
        ("vllm", {"tp": "0"}, {"weights_gib": "1"}, "", "tp 0 is no count"),
        ("vllm", {"gpu_total_gib": "-1"}, {"weights_gib": "1"}, "", "negative"),
        ("vllm", {}, {"weights_gib": "15 GB"}, "", "weights_gib '15 GB' is no number"),
        ("vllm", {}, {"weights_gib": "inf"}, "", "no number to compute with"),
        ("vllm", {}, {"kv_avail_gib": "-1.44"}, "", "no room for a cache"),
        ("vllm", {}, {"weights_gib": "1"}, "impossible: sums to 0.95", "doubted"),
        ("vllm", {"gpu_memory_utilization": ""}, {"kv_tokens": "1"}, "", "utilization is not"),
        ("vllm", {}, {"weights_gib": "60", "kv_avail_gib": "20"}, "", "impossible"),
        ("vllm", {}, {"kv_tokens": "1"}, "large batch implied", "a setting that no column tells"),
        ("vllm", {"model": "Qwen3-8B (+LoRA)"}, {"weights_gib": "1"}, "", "beside the model"),
        ("vllm", {"pp": "2"}, {"kv_avail_gib": "9"}, "", "which stage printed it"),
        ("vllm", {"ep_dp": "DP8/EP"}, {"weights_gib": "9"}, "", "data-parallel"),
        ("vllm", {"pp": "2"}, {"kv_avail_gib": "9", "kv_tokens": "9"}, "", "of one stage"),
        ("vllm", {"gpu": "", "gpu_total_gib": ""}, {"kv_tokens": "1"}, "", "the GPU is not named"),
        ("vllm", {"model": "gpt-oss-20b"}, {"kv_tokens": "1"}, "", "of one KV group"),
        (
            "sglang",
            {},
            {"kv_tokens": "20480"},
            "token pool capped",
            "a setting that no column tells",
        ),
        ("llamacpp", {"ftype": "IQ3_K", "n_ctx": "512"}, {"model_size": "3 GiB"}, "", "IQ3_K"),
        ("llamacpp", {}, {"kv_self_mib": "256"}, "", "n_ctx is not stated"),
    ],
)
def test_a_row_that_tells_too_little_is_skipped_with_its_reason(
    kind: str, config: dict[str, str], measured: dict[str, str], notes: str, why: str
) -> None:
    asked = VLLM | config if kind != "llamacpp" else {"model": "Llama-2-7B"} | config
    config = {name: cell for name, cell in asked.items() if cell}
    found = _scores(_row(kind, config, measured, notes)).values()
    told = [one for one in found if why in one.skipped_because]
    assert told
    assert all(one.error is None for one in told)


def test_a_configuration_that_cannot_be_is_skipped_with_the_reason() -> None:
    def refuse(_: Case) -> Prediction:
        raise ImpossibleError("--tp 3 does not divide 32 heads")

    (found,) = scored([_row("vllm", VLLM, {"weights_gib": "1"})], refuse)
    assert found.skipped_because == "--tp 3 does not divide 32 heads"


def test_more_weights_than_a_gpu_holds_mean_a_split_that_nobody_told() -> None:
    config = {name: cell for name, cell in VLLM.items() if name != "tp"}
    big = replace(HERE, weights=100 * GIB)
    (found,) = scored([_row("vllm", config, {"weights_gib": "20"})], lambda _: big)
    assert "tp is not stated" in found.skipped_because


def test_a_zero_is_a_size_that_was_not_logged() -> None:
    config = {"model": "Llama-2-7B", "ftype": "Q4_0", "n_ctx": "512"}
    measured = {"model_buf_dev_mib": "0", "kv_self_mib": "256.00", "compute_buf_dev_mib": "0"}
    found = _scores(_row("llamacpp", config, measured))
    assert list(found) == ["kv_self_mib"]
    assert found["kv_self_mib"].error == 0


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([3.0], 0.9) == 3
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([float(n) for n in range(11)], 0.9) == 9
    assert quantile([0.0, 10.0], 0.9) == 9


def test_a_summary_counts_errors_by_size_and_names_the_worst() -> None:
    def row(number: int, weights: float) -> Row:
        return replace(_row("vllm", VLLM, {"weights_gib": str(weights)}), id=f"r{number}")

    # 15 GiB predicted: errors 0, -0.5, 0.5, and one of 2.
    rows = [row(number, weights) for number, weights in enumerate((15, 30, 10, 5), start=1)]
    (found,) = summaries(scored(rows, _predict))
    assert (found.group, found.metric, found.n, found.skipped) == ("vllm-v1", "weights_gib", 4, 0)
    assert found.error_p50 == 0.5
    assert found.error_p90 == pytest.approx(0.5 + 0.7 * 1.5)
    assert found.bias == 0.25
    assert [one.row_id for one in found.worst] == ["r4", "r2", "r3"]
    assert found.false_fits is None


ROWS = [row for path in FILES.values() for row in read(path)]
CELLS = st.sampled_from(["", "0", "1", "17.5", "-3", "1e9", "x", "fits", "oom", "3.5 GiB", "nan"])


@settings(max_examples=200)
@given(st.sampled_from(ROWS), st.data())
def test_changing_a_measured_column_never_changes_a_prediction(
    row: Row, data: st.DataObject
) -> None:
    """Predictions by configuration: the case, and what is said of each metric that remains."""
    changed = {name: data.draw(CELLS, label=name) for name in sorted(row.kind.measured)}
    other = replace(row, measured={name: cell for name, cell in changed.items() if cell})
    asked: list[Case] = []

    def predict(one: Case) -> Prediction:
        asked.append(one)
        return HERE

    before = {one.metric: one.predicted for one in scored([row], predict)}
    after = {one.metric: one.predicted for one in scored([other], predict)}
    assert len(asked) in {0, 2}
    assert asked[:1] == asked[1:]
    assert all(after[metric] == before[metric] for metric in before.keys() & after.keys())


@pytest.mark.parametrize("row", ROWS[:: len(ROWS) // 200], ids=lambda row: row.id)
def test_a_case_is_made_of_the_configured_half_alone(row: Row) -> None:
    """The one door: its parameters are the kind of file and the configured cells."""
    try:
        made = case(row.kind.name, row.config)
    except Unusable as why:
        assert str(why)
    else:
        assert made == case(row.kind.name, dict(row.config))


@given(
    st.sampled_from(sorted(set(FILES))),
    st.dictionaries(st.sampled_from(sorted({c for row in ROWS for c in row.kind.config})), CELLS),
    st.dictionaries(st.sampled_from(sorted({c for row in ROWS for c in row.kind.measured})), CELLS),
)
def test_whatever_stands_in_the_cells_is_scored_or_skipped(
    kind: str, config: dict[str, str], measured: dict[str, str]
) -> None:
    model = {"model": "Llama-2-7B", "config": "llama2-7b", "model_stated": "stated"}
    for one in scored([_row(kind, model | config, measured)], _predict):
        assert (one.error is None) == bool(one.skipped_because)

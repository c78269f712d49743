"""GPU-hours of published runs where their rate or MFU is given, and throughput from defaults."""

from __future__ import annotations

from statistics import median

import pytest

from llmcalc.api.predict import predict
from llmcalc.api.predict_training_time import steady_hours
from llmcalc.catalog import rates
from llmcalc.catalog.find import gpu
from llmcalc.checks.measured.cases_of_training_time import HoursCase, hours
from llmcalc.checks.measured.reading import Row, read, shipped
from llmcalc.checks.measured.score import Scored, scored
from llmcalc.checks.measured.statistics import quantile
from llmcalc.engines.steptime.published import published_mfu, whole_run

GIVEN = {
    "gp0012": (0.40, "arXiv:2407.21783, table 4: 38 to 43 %, 40 % at the longest stage"),
    "gp0021": (0.36, "150 TFLOP/s with recomputation (row): three quarters of it"),
    "gp0022": (0.56, "its README (row)"),
    "gp0026": (0.50, "llm-foundry, MPT-7b on 128 A100-40GB (training_throughput.tsv th0155)"),
    "gp0040": (0.60, "up to about 60 % (row)"),
}
"""MFU that was published apart from the hours. OPT's 147 TFLOP/s do not say whether recomputation
counts, so it is left out."""


def _rows(name: str) -> list[Row]:
    (path,) = (one for one in shipped() if one.endswith(name))
    return read(path)


def test_hours_of_published_runs_follow_from_their_mfu() -> None:
    """Within 20 % in the median of five; what is missing are restarts and evaluation."""
    off = {}
    for row in _rows("training_gpu_hours.tsv"):
        if row.id in GIVEN:
            asked = hours(row.config)
            assert isinstance(asked, HoursCase)
            found = steady_hours(asked, rates.utilisation(), GIVEN[row.id][0])
            off[row.id] = found / float(row.measured["gpu_hours"]) - 1
    assert len(off) == len(GIVEN)
    assert median(map(abs, off.values())) < 0.20, off


@pytest.fixture(scope="module")
def timed() -> list[Scored]:
    """Every row of training speed."""
    rows = _rows("training_throughput.tsv") + _rows("training_memory.tsv")
    return [one for one in scored(rows, predict) if one.metric in {"tok_s_gpu", "mfu_pct"}]


def test_tokens_a_second_from_defaults(timed: list[Scored]) -> None:
    """Within 10 % in the median of 366 rows, on which the constants were fitted."""
    off = [abs(one.error) for one in timed if one.metric == "tok_s_gpu" and one.error is not None]
    assert len(off) == 366
    assert median(off) < 0.10
    file = rates.utilisation()
    assert file.n == len(off)
    assert file.error_p50 == pytest.approx(quantile(off, 0.5), abs=0.001)
    assert file.error_p90 == pytest.approx(quantile(off, 0.9), abs=0.001)


def test_left_out_publishers_are_foretold_worse_and_the_file_says_so() -> None:
    """A reader sees both errors: the rows know their own publisher's habits."""
    file = rates.utilisation()
    assert file.left_out_p50
    assert file.error_p50
    assert file.left_out_p50 > file.error_p50


def test_mfu_from_defaults(timed: list[Scored]) -> None:
    off = [abs(one.error) for one in timed if one.metric == "mfu_pct" and one.error is not None]
    assert len(off) == 228
    assert median(off) < 0.10


def test_published_mfu_is_the_median_of_its_rows() -> None:
    """MPT-13b to 70b on H100 in bf16: the file's median lies between their slowest and fastest."""
    card = published_mfu(rates.utilisation(), gpu("h100-sxm5-80gb"), 13_000_000_000)
    mfu = [
        float(row.measured["mfu_pct"]) / 100
        for row in _rows("training_throughput.tsv")
        if row.config["gpu"] == "h100_80gb"
        and row.config["precision"] == "amp_bf16"
        and float(row.config["params_b"]) > 10
    ]
    assert card.n == len(mfu)
    assert card.p50 == pytest.approx(median(mfu), rel=0.01)
    assert card.p10 < card.p50 < card.p90


def test_whole_runs_on_h100_cost_half_as_much_again_as_their_steady_rate() -> None:
    """Reported hours hold restarts, evaluation and more: 6N alone explains 25 % of them."""
    share = whole_run(rates.utilisation(), gpu("h100-sxm5-80gb"))
    assert share.p50 < 0.8
    assert share.p10 < share.p50 < share.p90

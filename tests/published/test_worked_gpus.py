"""Worked examples g01 to g06: what the catalog says of GPUs, and what one is worth in training."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import pytest

from llmcalc.api.predict import predict
from llmcalc.catalog.find import gpu
from llmcalc.checks.measured.reading import read, shipped
from llmcalc.checks.measured.score import Scored, scored

Worked = dict[str, dict[str, str]]


def test_g01_the_rtx_5090_computes_209_in_bf16_and_came_in_2025(worked: Worked) -> None:
    found = gpu("rtx-5090")
    assert worked["g01"]["value"] == f"{found.compute.bf16} dense bf16, January {found.released}"


def test_g02_the_a6000_is_no_ada_and_91_is_the_ada_in_fp32(worked: Worked) -> None:
    ampere, ada = gpu("rtx-a6000").compute, gpu("rtx-6000-ada").compute
    assert worked["g02"]["value"] == f"{ampere.bf16} / {ada.bf16} dense bf16"
    assert ada.fp32 == pytest.approx(91, abs=0.5)


def test_g03_the_v100_has_no_bf16(worked: Worked) -> None:
    assert worked["g03"]["value"] == "125 fp16; no bf16 hardware"
    found = gpu("v100").compute
    assert (found.fp16, found.bf16) == (125, None)


def test_g04_a_b200_has_180_gb_and_the_two_of_a_gb200_have_372(worked: Worked) -> None:
    one, of_two = gpu("b200").memory.marketed_gb, gpu("gb200").memory.marketed_gb
    assert one
    assert of_two
    assert worked["g04"]["value"] == f"{one:.0f} / {2 * of_two:.0f} GB"


def test_g05_a_b200_computes_what_18_v100_do(worked: Worked) -> None:
    # 2,250 TFLOP/s in bf16, 125 in fp16.
    assert worked["g05"]["value"] == "18"
    blackwell, volta = gpu("b200").compute.bf16, gpu("v100").compute.fp16
    assert blackwell
    assert volta
    assert blackwell / volta == 18


def _pairs() -> list[tuple[Scored, Scored]]:
    """Rows that differ in nothing but H100 and A100 of 80 GB: model, GPUs, length, precision."""
    (path,) = (one for one in shipped() if one.endswith("training_throughput.tsv"))
    rows = read(path)
    config = {row.id: row.config for row in rows}
    alike: defaultdict[tuple[str, ...], dict[str, Scored]] = defaultdict(dict)
    for one in scored(rows, predict):
        if one.metric == "tok_s_gpu" and one.error is not None:
            said = config[one.row_id]
            key = tuple(said.get(name, "") for name in ("model", "gpus", "seq", "precision"))
            alike[key][said["gpu"]] = one
    both = ("h100_80gb", "a100_80gb")
    return [(each[both[0]], each[both[1]]) for each in alike.values() if each.keys() >= set(both)]


def test_g06_an_h100_trains_twice_as_fast_as_an_a100_and_not_three_times(worked: Worked) -> None:
    """The peaks are 3.2 apart; what the defaults foretell is as far apart as what was measured."""
    times = float(worked["g06"]["value"].split("x")[0])
    measured, predicted = [], []
    for fast, slow in _pairs():
        assert fast.measured
        assert slow.measured
        assert fast.predicted
        assert slow.predicted
        measured.append(fast.measured / slow.measured)
        predicted.append(fast.predicted / slow.predicted)
    assert median(measured) == pytest.approx(times, abs=0.005)
    assert median(predicted) == pytest.approx(times, rel=0.1)

"""`validate` on files whose numbers were worked out by hand, and on those that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmcalc.api.validate import validate
from llmcalc.catalog.accuracy import PARTS, band, bands
from llmcalc.checks.measured.reading import shipped
from llmcalc.formula import recording
from llmcalc.report.asjson import asjson
from llmcalc.report.model import Report

FILES = {Path(path).stem: Path(path) for path in shipped()}
KEYS = {"group", "metric", "n", "skipped", "error_p50", "error_p90", "bias"}


def _header(kind: str) -> list[str]:
    return FILES[kind].read_text(encoding="utf-8").split("\n")[0].split("\t")


def _file(folder: Path, kind: str, *rows: dict[str, str]) -> str:
    """A file of that kind with these cells."""
    header = _header(kind)
    assert all(set(row) <= set(header) for row in rows)
    lines = [header, *([row.get(name, "") for name in header] for row in rows)]
    path = folder / f"{kind}.tsv"
    path.write_text("\n".join("\t".join(line) for line in lines) + "\n", encoding="utf-8")
    return str(path)


def _by_metric(report: Report) -> dict[str, Any]:
    return {one.metric: one for one in report.results}


LLAMA = {
    "row_id": "a", "engine": "llama.cpp", "model": "LLaMA v2 6.74 B", "ftype": "F16",
    "params": "6.74 B", "n_layer": "32", "n_head_kv": "32", "n_embd": "4096", "n_vocab": "32000",
    "n_ctx": "512", "cache_type": "f16", "n_gpu_layers": "33/33", "n_ubatch": "512",
}  # fmt: skip


def test_a_cache_that_the_formula_gives_has_no_error(tmp_path: Path) -> None:
    """2 · 32 layers · 4096 · 512 tokens · 2 bytes = 256 MiB, by hand."""
    report = validate([_file(tmp_path, "llamacpp", LLAMA | {"kv_self_mib": "256.00"})], rows=True)
    found = _by_metric(report)["kv_self_mib"]
    assert (found.group, found.n, found.skipped) == ("llama.cpp", 1, 0)
    assert found.rows[0].predicted == 256
    assert found.error_p50 == found.error_p90 == found.bias == 0


def test_a_file_of_16_bit_weights_is_two_bytes_a_parameter(tmp_path: Path) -> None:
    """Llama-2-7B has 6,738,415,616 parameters; its norms stay in 32 bits, 266,240 of them."""
    report = validate([_file(tmp_path, "llamacpp", LLAMA | {"model_size": "12.55 GiB"})], rows=True)
    (row,) = _by_metric(report)["model_size"].rows
    assert row.predicted == pytest.approx((2 * 6_738_415_616 + 2 * 266_240) / 2**30)


def test_weights_of_a_tensor_rank_are_its_share(tmp_path: Path) -> None:
    """Qwen2.5-0.5B is small enough for any GPU: 494,032,768 parameters in two bytes, one rank."""
    row = {
        "row_id": "a", "engine": "V1", "version": "0.11.0", "model": "Qwen2.5-0.5B-Instruct",
        "model_stated": "stated", "weight_quant": "bf16", "gpu": "H100 80GB", "tp": "1",
        "weights_gib": "0.92",
    }  # fmt: skip
    report = validate([_file(tmp_path, "vllm", row)], rows=True)
    (found,) = _by_metric(report)["weights_gib"].rows
    assert found.predicted == pytest.approx(494_032_768 * 2 / 2**30, rel=1e-3)


@pytest.fixture(scope="module")
def whole() -> Report:
    return validate(rows=True)


def test_the_keys_of_the_contract_are_there(whole: Report) -> None:
    text = json.loads(asjson(whole))
    assert text["schema"] == "llmcalc/validate/1"
    for result in text["results"]:
        assert set(result) >= KEYS
        for row in result["rows"]:
            assert set(row) >= {"row_id", "predicted", "measured", "error", "skipped_because"}


def test_rows_are_told_only_when_asked(tmp_path: Path) -> None:
    path = _file(tmp_path, "llamacpp", LLAMA | {"kv_self_mib": "256.00"})
    assert [one.rows for one in validate([path]).results] == [None]


def test_every_row_is_scored_or_skipped_with_a_reason(whole: Report) -> None:
    for result in whole.results:
        assert result.n + result.skipped == len(result.rows)
        assert result.n == sum(row.error is not None for row in result.rows)
        for row in result.rows:
            assert (row.error is None) == bool(row.skipped_because)


def test_rows_whose_model_was_inferred_are_not_scored(whole: Report) -> None:
    lines = FILES["vllm"].read_text(encoding="utf-8").splitlines()
    at = lines[0].split("\t").index("model_stated")
    inferred = {line.split("\t")[0] for line in lines[1:] if line.split("\t")[at] == "inferred"}
    assert inferred
    told = {row.row_id for one in whole.results for row in one.rows if row.error is not None}
    assert not inferred & told


def test_changed_measurements_change_no_prediction(whole: Report, tmp_path: Path) -> None:
    """The whole way: each file again, every measured number doubled."""
    paths = []
    for path in shipped():
        from llmcalc.checks.measured.kinds import recognised

        head, *lines = Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n")
        names = head.split("\t")
        kind = recognised(frozenset(names))
        assert kind
        changed = [
            "\t".join(
                f"{2 * float(cell)}" if name in kind.measured and _is_number(cell) else cell
                for name, cell in zip(names, line.split("\t"), strict=True)
            )
            for line in lines
        ]
        copy = tmp_path / Path(path).name
        copy.write_text("\n".join([head, *changed]) + "\n", encoding="utf-8")
        paths.append(str(copy))
    before, after = _predicted(whole), _predicted(validate(paths, rows=True))
    assert {key: after[key] for key in after.keys() & before.keys()} == {
        key: before[key] for key in after.keys() & before.keys()
    }
    assert any(value is not None for value in before.values())


def _predicted(report: Report) -> dict[tuple[str, str, str], float | None]:
    return {
        (one.group, one.metric, row.row_id): row.predicted
        for one in report.results
        for row in one.rows
    }


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_explain_works_out_the_errors(tmp_path: Path) -> None:
    path = _file(tmp_path, "llamacpp", LLAMA | {"kv_self_mib": "200.00"})
    with recording() as steps:
        validate([path])
    (step,) = [step for step in steps if step.name.endswith(" a")]
    assert (step.text, step.values) == (
        "predicted / measured − 1",
        {"predicted": 256.0, "measured": 200.0},
    )
    assert step.result == pytest.approx(0.28)


def test_a_header_without_rows_is_an_answer(tmp_path: Path) -> None:
    report = validate([_file(tmp_path, "vllm")])
    assert (report.results, report.exit_code) == ((), 0)
    assert report.warnings == ("no row under the header",)


def test_ten_thousand_rows_are_scored(tmp_path: Path) -> None:
    rows = [LLAMA | {"row_id": f"r{n}", "kv_self_mib": "256"} for n in range(10_000)]
    (found,) = validate([_file(tmp_path, "llamacpp", *rows)]).results
    assert (found.n, found.error_p90) == (10_000, 0)


def test_shipped_bands_are_those_of_modelled_numbers() -> None:
    assert bands()
    for (runtime, metric), one in bands().items():
        assert (one.runtime, one.metric) == (runtime, metric)
        assert one.n > 0
        assert 0 <= one.p50 <= one.p90
    found = band("llama.cpp", "kv_cache")
    assert found
    assert found.metric in PARTS["kv_cache"]
    assert band("none", "kv_cache") is None
    assert band("llama.cpp", "none") is None

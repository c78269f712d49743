"""Files of measurements: which form they have, and how a row falls into its halves."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcalc.checks.measured.kinds import KINDS
from llmcalc.checks.measured.reading import read, shipped
from llmcalc.errors import InvalidFileError, UnknownNameError

SHIPPED = {Path(path).stem: path for path in shipped()}
FORMS = ("vllm", "sglang", "llamacpp", "oom", "vllm_cpu", "decode")


@pytest.mark.parametrize("name", FORMS)
def test_a_shipped_file_is_of_its_own_kind(name: str) -> None:
    rows = read(SHIPPED[name])
    assert {row.kind.name for row in rows} == {name}
    assert not any(row.broken for row in rows)
    assert len(rows) == len(Path(SHIPPED[name]).read_text(encoding="utf-8").splitlines()) - 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_column_is_both_configured_and_measured(kind: object) -> None:
    assert not kind.config & kind.measured  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FORMS)
def test_the_configured_half_holds_no_measured_column(name: str) -> None:
    for row in read(SHIPPED[name]):
        assert not set(row.config) & row.kind.measured
        assert set(row.config) <= row.kind.config


@pytest.mark.parametrize("name", FORMS)
def test_csv_says_the_same_as_tsv(name: str, tmp_path: Path) -> None:
    out = io.StringIO(newline="")
    text = Path(SHIPPED[name]).read_text(encoding="utf-8")
    csv.writer(out).writerows(line.split("\t") for line in text.rstrip("\n").split("\n"))
    file = tmp_path / f"{name}.csv"
    file.write_text(f"\ufeff{out.getvalue()}", encoding="utf-8", newline="")
    pairs = zip(read(str(file)), read(SHIPPED[name]), strict=True)
    assert all((one.config, one.measured) == (two.config, two.measured) for one, two in pairs)


def _written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "x.tsv"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("text", ["", "\n\n", "\t\n"])
def test_an_empty_file_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="is empty"):
        read(_written(tmp_path, text))


def test_an_unknown_header_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="no known header") as caught:
        read(_written(tmp_path, "alpha\tbeta\n1\t2\n"))
    assert all(form in caught.value.hint for form in FORMS)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    lines = Path(SHIPPED["vllm_cpu"]).read_text(encoding="utf-8").splitlines()
    cut = "\n".join(line.rpartition("\t")[0] for line in lines)
    with pytest.raises(InvalidFileError, match="a vllm_cpu file misses the column groups"):
        read(_written(tmp_path, cut))


def test_columns_about_the_source_may_be_left_out_and_others_added(tmp_path: Path) -> None:
    kind = next(kind for kind in KINDS if kind.name == "sglang")
    header = [*sorted(kind.required), "my_remark"]
    (row,) = read(_written(tmp_path, "\t".join(header) + "\nx\n"))
    assert (row.kind.name, row.id) == ("sglang", "x:2")


def test_a_line_with_too_many_cells_is_no_row(tmp_path: Path) -> None:
    text = Path(SHIPPED["vllm_cpu"]).read_text(encoding="utf-8")
    rows = read(_written(tmp_path, text + "a\t" * 20 + "a\n"))
    assert rows[-1].broken == "21 cells under 11 columns"
    assert not any(row.broken for row in rows[:-1])


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InvalidFileError, match="UTF-8"):
        read(str(path))


def test_no_file_is_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError):
        read(str(tmp_path / "none.tsv"))


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever the file says: rows, or one error about the file."""
    path = SHIPPED["vllm_cpu"]
    header = Path(path).read_text(encoding="utf-8").split("\n")[0]
    for content in (text, f"{header}\n{text}", f"{header.replace(chr(9), ',')}\n{text}"):
        with pytest.MonkeyPatch.context() as patch:
            raw = content.encode("utf-8", "surrogatepass")
            patch.setattr("llmcalc.checks.measured.reading.content", lambda *_, raw=raw: raw)
            try:
                rows = read("x.tsv")
            except InvalidFileError as error:
                assert error.hint
            else:
                assert all(row.kind.name == "vllm_cpu" for row in rows)

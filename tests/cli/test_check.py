"""`check` on the command line: what differs is said at its line, in every format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from llmcalc.api.check import check
from llmcalc.checks.quantities import NAMES

Llmcalc = Callable[..., Any]
Golden = Callable[[str, str], None]

# 228 parameters, see conftest; one hidden row more in vocabulary and head would be 8 more.
GOOD = """\
name: zz-good
family: zz-test
source: made for this test
published: {params: 228, relation: total, source: by hand}
hidden_size: 4
vocab_size: 10
blocks:
  layer:
    parts:
      - attn: {num_heads: 2}
      - mlp: {intermediate_size: 6}
layers: [layer]
"""
OFF = GOOD.replace("zz-good", "zz-off").replace("vocab_size: 10", "vocab_size: 11")
BROKEN = GOOD.replace("vocab_size", "vocab_sise")
LOADING = "loading torch to check"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cards of somebody's repository, one good, one off, one broken; we stand above them."""
    cards = tmp_path / "mine"
    cards.mkdir()
    for name, text in (("good", GOOD), ("off", OFF), ("broken", BROKEN)):
        (cards / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return cards


def test_a_card_that_agrees_ends_with_0_and_all_its_numbers(llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "zz-tiny")
    assert (run.code, run.err) == (0, f"{LOADING} 1 card\n")
    title, head, *rows = run.out.split("\n\n")[0].splitlines()
    assert title == "zz-tiny"
    assert head.split() == ["check", "expected", "got", "equal"]
    assert [row.split()[0] for row in rows] == ["schema", *NAMES]
    assert all(row.endswith("yes") for row in rows)
    assert rows[1].split() == ["params", "228", "228", "yes"]
    assert "\n1 card: 1 agree; " in run.out


def test_a_difference_ends_with_6_and_names_line_and_field(folder: Path, llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "mine/off.yaml")
    assert run.code == 6
    table, reason, count, _ = run.out.split("\n\n")
    assert table.splitlines()[2].split() == ["zz-off", "published", "228", "236", "8"]
    assert reason.startswith("mine/off.yaml:6: published: parameters 236; 8 too many; would agree")
    assert "vocab_size: 10" in reason
    assert count.startswith("1 card: 0 agree, 1 differs; ")
    assert folder.is_dir()


def test_a_broken_file_ends_with_4_and_the_others_are_checked(
    folder: Path, llmcalc: Llmcalc
) -> None:
    run = llmcalc("check", "mine")
    assert run.code == 4
    assert run.err == (
        "error: mine/broken.yaml:6: vocab_sise is no key of this file\n"
        f"hint: did you mean vocab_size?\n{LOADING} 2 cards\n"
    )
    assert "3 cards: 1 agree, 1 differs, 1 invalid; " in run.out
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("check.txt", "text"),
        ("check.github", "github"),
        ("check.xml", "junit"),
        ("check.json", "json"),
    ],
)
def test_each_format_is_as_it_was(
    name: str, form: str, folder: Path, llmcalc: Llmcalc, golden: Golden
) -> None:
    run = llmcalc("check", "mine", "--format", form)
    assert run.code == 4
    golden(name, run.out)
    assert folder.is_dir()


def test_github_shows_each_difference_at_its_line(folder: Path, llmcalc: Llmcalc) -> None:
    first, second, count = llmcalc("check", "mine", "--format", "github").out.splitlines()
    assert first.startswith("::error file=mine/broken.yaml,line=6,title=llmcalc check mine/broken")
    assert first.endswith("::schema: vocab_sise is no key of this file; did you mean vocab_size?")
    assert second.startswith("::error file=mine/off.yaml,line=6,title=llmcalc check zz-off::")
    assert "expected 228, got 236 (+8)" in second
    assert count.startswith("3 cards: ")
    assert folder.is_dir()


def test_github_gets_no_command_from_a_file(tmp_path: Path, llmcalc: Llmcalc) -> None:
    path = tmp_path / "a,b%25::c.yaml"
    path.write_text(OFF, encoding="utf-8")
    line, _ = llmcalc("check", str(path), "--format", "github").out.splitlines()
    properties = line.removeprefix("::error ").partition("::")[0]
    assert "a%2Cb%2525%3A%3Ac.yaml,line=6,title=" in properties


def test_junit_is_a_suite_with_a_case_for_each_comparison(folder: Path, llmcalc: Llmcalc) -> None:
    root = ET.fromstring(llmcalc("check", "mine", "--format", "junit").out)  # noqa: S314  (our own)
    (suite,) = root
    cases = list(suite)
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert len(cases) == int(suite.attrib["tests"]) == 1 + 2 * (2 + len(NAMES))
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(failed) == int(suite.attrib["failures"]) == 2
    assert [(case.attrib["file"], case.attrib["line"]) for case in failed] == [
        ("mine/broken.yaml", "6"),
        ("mine/off.yaml", "6"),
    ]
    assert folder.is_dir()


def test_json_has_the_keys_of_the_contract_and_two_spellings(
    folder: Path, llmcalc: Llmcalc
) -> None:
    run = llmcalc("check", "mine/off.yaml", "--json")
    assert run.out == llmcalc("check", "mine/off.yaml", "--format", "json").out
    (result,) = json.loads(run.out)["results"]
    assert set(result) == {"card", "file", "checks", "ok", "basis", "assumptions"}
    assert (result["card"], result["ok"], result["basis"]) == ("zz-off", False, "exact")
    assert [one["name"] for one in result["checks"]] == ["schema", "published", *NAMES]
    for one in result["checks"]:
        assert set(one) == {"name", "expected", "got", "ok", "hint", "line"}
        assert one["ok"] is (one["expected"] == one["got"])
    assert folder.is_dir()


@pytest.mark.parametrize("form", ["--json", "--csv", "--markdown"])
def test_two_forms_at_once_are_refused_before_any_work(form: str, llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "zz-tiny", "--format", "junit", form)
    assert (run.code, run.out) == (2, "")
    assert (
        run.err == f"error: --format junit and {form} exclude each other\nhint: ask for one form\n"
    )


def test_csv_lists_what_differs(folder: Path, llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "mine/good.yaml", "mine/off.yaml", "--csv")
    assert run.out.splitlines() == [
        "card,check,expected,got,difference",
        "zz-off,published,228,236,8",
    ]
    assert folder.is_dir()


def test_without_torch_it_ends_with_7_and_says_what_to_install(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    run = llmcalc("check", "zz-tiny")
    assert (run.code, run.out) == (7, "")
    assert run.err.splitlines() == [
        "error: check needs torch, which is not installed",
        "hint: pip install 'llmcalc-proof[torch]'",
    ]


def test_an_unknown_name_ends_with_3_before_torch_loads(llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "zz-tiny", "zz-tiiny")
    assert (run.code, run.out) == (3, "")
    assert run.err == "error: no model named zz-tiiny\nhint: did you mean zz-tiny?\n"


def test_a_missing_file_ends_with_3(llmcalc: Llmcalc) -> None:
    run = llmcalc("check", "./nowhere.yaml")
    assert (run.code, run.err) == (3, "error: no file at ./nowhere.yaml\nhint: check the path\n")


def test_a_folder_without_cards_ends_with_4(tmp_path: Path, llmcalc: Llmcalc) -> None:
    (tmp_path / "empty").mkdir()
    run = llmcalc("check", str(tmp_path / "empty"))
    assert run.code == 4
    assert "holds no card and no config.json" in run.err


def test_a_card_from_stdin_has_no_line(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmcalc.catalog.files.stdin", OFF.encode)
    run = llmcalc("check", "-", "--format", "github")
    assert run.code == 6
    assert run.out.startswith("::error title=llmcalc check zz-off::published: ")


def test_without_names_the_whole_catalog_is_checked(
    monkeypatch: pytest.MonkeyPatch, catalog: Path
) -> None:
    """The user's folders as well as the shipped one, which is replaced by an empty one here."""
    (catalog / "shipped").mkdir()
    monkeypatch.setattr("llmcalc.catalog.shelf.Shelf._shipped", lambda _: str(catalog / "shipped"))
    assert [one.card for one in check().results] == ["zz-tiny"]


def test_progress_is_one_line_of_a_screen(
    llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run = llmcalc("check", "zz-tiny")
    assert run.err == f"{LOADING} 1 card\n\r\x1b[K1 of 1: zz-tiny\r\x1b[K"


def test_a_log_hears_of_slow_work_only(llmcalc: Llmcalc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmcalc.cli.progress.SLOW", -1)
    assert llmcalc("check", "zz-tiny").err == f"{LOADING} 1 card\nchecked 1 of 1 cards\n"

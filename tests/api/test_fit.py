"""`fit`: order, the whole catalog, splits, and a strict answer's exit code."""

from __future__ import annotations

from typing import Any

from llmcalc.api.fit import ORDER, FitResult, Question, fit_catalog, fits
from llmcalc.api.selection import Filter
from llmcalc.api.setup import setup
from llmcalc.catalog.find import card, gpu
from llmcalc.report.model import Report


def _ask(batch: int = 16, seq: int = 4_096, device: str = "a100-80", **asked: Any) -> Question:
    return Question(gpu=gpu(device), batch=batch, seq=seq, setup=setup(**asked))


def _results(report: Report) -> list[FitResult]:
    return list(report.results)


def test_what_fits_comes_first_and_the_largest_of_it() -> None:
    names = ("llama2-70b", "llama2-7b", "gpt2-xl", "llama2-13b", "llama3-8b")
    found = _results(fits([card(name) for name in names], _ask()))
    # GPT-2 was made for 1,024 tokens, so it says no to 4,096.
    assert [(one.model, one.verdict, one.limit) for one in found] == [
        ("llama3-8b", "fits", "nothing"), ("llama2-7b", "fits", "nothing"),
        ("llama2-13b", "tight", "kv_cache"), ("llama2-70b", "no", "weights"),
        ("gpt2-xl", "no", "context"),
    ]  # fmt: skip


def test_every_result_keeps_its_promises() -> None:
    found = _results(fit_catalog(Filter(), _ask(batch=1, seq=512)))
    assert len(found) > 70
    assert [ORDER.index(one.verdict) for one in found] == sorted(
        ORDER.index(one.verdict) for one in found
    )
    for one in found:
        assert sum(part.bytes for part in one.parts) == one.needed
        assert one.free == one.capacity - one.needed
        assert (one.verdict == "no") == (one.needed > one.capacity or one.seq < 512)
        assert (one.max_batch >= 1) == (one.needed <= one.capacity)
        assert one.max_context is None or one.max_context <= (one.context_limit or one.max_context)
        assert one.active <= one.params


def test_strict_says_no_in_its_exit_code() -> None:
    small, large = card("llama2-7b"), card("llama2-70b")
    assert fits([small, large], _ask(), strict=True).exit_code == 6
    assert fits([small], _ask(), strict=True).exit_code == 0
    assert fits([small, large], _ask()).exit_code == 0


def test_a_split_that_some_models_do_not_allow_leaves_them_out_with_a_word() -> None:
    report = fit_catalog(Filter(words=("gpt2",)), _ask(seq=512, tp=2))
    (warning,) = report.warnings
    assert "1 model" in warning
    assert "left out" in warning
    # GPT-2 XL has 25 heads.
    names = {one.model for one in _results(report)}
    assert "gpt2-large" in names
    assert "gpt2-xl" not in names


def test_four_gpus_hold_what_one_does_not() -> None:
    (one,) = _results(fits([card("llama2-70b")], _ask(batch=1)))
    (four,) = _results(fits([card("llama2-70b")], _ask(batch=1, gpus=4)))
    assert (one.verdict, four.verdict, four.gpus) == ("no", "fits", 4)
    ranks = four.parallel["tp"] * four.parallel["pp"] * four.parallel["dp"]
    assert ranks <= 4
    assert four.needed < one.needed / 2


def test_a_first_screen_does_not_place_models_whose_context_is_too_short() -> None:
    """GPT-2 was made for 1,024 tokens: the verdict needs no memory."""
    report = fit_catalog(Filter(words=("gpt2",)), _ask(seq=4_096))
    (table,) = report.tables
    assert table.brief == ()
    assert "have a shorter context" in table.note
    assert {one.limit for one in _results(report)} == {"context"}

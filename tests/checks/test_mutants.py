"""Each field of each kind is proven: when one witness does not see it, check names the number."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from llmcalc.checks import verdict
from llmcalc.checks.blueprint_numbers import computed
from llmcalc.checks.mtp_numbers import measured_mtp
from llmcalc.checks.quantities import NAMES, Sizes, sizes
from llmcalc.checks.twin_numbers import measured
from llmcalc.spec.card import Block, Embedding, ModelCard, Mtp, Published, Stack, Tensor, Tower
from llmcalc.spec.parts import PARTS, Indexer
from tests.checks.mutants import MUTANTS, PLAIN, SAME
from tests.checks.parts import ATTENTION, MLP, card

CLASSES = (*PARTS, Indexer, Embedding, Tensor, Block, Stack, Tower, Mtp, ModelCard)
FIELDS = [(one, field.name) for one in CLASSES for field in fields(one) if field.name != "kind"]
AGREED: set[str] = set()
ATTENTION_PLACE = ("blocks", "one", "parts", 0, "attn")


def _named(key: tuple[type, str]) -> str:
    return f"{key[0].__name__}.{key[1]}"


@pytest.fixture
def twin_of(monkeypatch: pytest.MonkeyPatch) -> object:
    """Let the twin read another card than the blueprint does."""

    def read(original: ModelCard) -> None:
        monkeypatch.setattr(verdict, "measured", lambda _, at: measured(original, at))
        monkeypatch.setattr(verdict, "measured_mtp", lambda _: measured_mtp(original))

    return read


@pytest.mark.parametrize("key", FIELDS, ids=_named)
def test_every_field_has_a_mutant_or_a_reason_why_not(key: tuple[type, str]) -> None:
    assert (key in MUTANTS) != (key in SAME), (
        f"{_named(key)} needs one entry in mutants.py or parts.py"
    )


@pytest.mark.parametrize("key", MUTANTS, ids=_named)
def test_a_field_that_the_twin_does_not_see_is_found_and_its_quantity_named(
    key: tuple[type, str], twin_of: object
) -> None:
    mutant = MUTANTS[key]
    twin_of(mutant.base)  # type: ignore[operator]  the fixture's function
    found = verdict.check(mutant.changed)
    differ = {one.name for one in found.checks if not one.ok}
    assert mutant.shows in differ
    assert differ <= {*NAMES, "mtp"}
    assert all(one.hint for one in found.checks if not one.ok)


@pytest.mark.parametrize("key", MUTANTS, ids=_named)
def test_both_witnesses_agree_on_the_card_before_and_after(key: tuple[type, str]) -> None:
    for one in (MUTANTS[key].base, MUTANTS[key].changed):
        text = repr(one)  # many mutants have one base
        if text not in AGREED:
            assert [each for each in verdict.check(one).checks if not each.ok] == []
            AGREED.add(text)


@pytest.mark.parametrize("key", SAME, ids=_named)
def test_a_field_without_a_number_moves_none(key: tuple[type, str]) -> None:
    reason, mutant = SAME[key]
    assert reason
    if mutant is None:
        return
    at = sizes(mutant.base)
    assert computed(mutant.base, at) == computed(mutant.changed, at)
    assert measured(mutant.base, at) == measured(mutant.changed, at)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("num_kv_heads", 4, "num_kv_heads: 2"),
        ("head_dim", 16, "head_dim: 8"),
        ("qkv_bias", True, "qkv_bias: false"),
        ("qk_norm", "head", "qk_norm left out"),
        ("window", 24, "window left out"),
    ],
)
def test_the_field_that_would_make_witnesses_agree_is_named(
    field: str, value: object, told: str, twin_of: object
) -> None:
    twin_of(PLAIN)  # type: ignore[operator]
    changed = card(replace(ATTENTION, **{field: value}), MLP)  # type: ignore[arg-type]
    wrong = [one for one in verdict.check(changed).checks if not one.ok]
    assert wrong
    for one in wrong:
        assert f"would agree with {told}" in one.hint
        assert "a defect of llmcalc" in one.hint
        assert one.paths[0] == (*ATTENTION_PLACE, field)


def test_a_twin_that_breaks_is_a_failed_check_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: ModelCard, __: Sizes) -> None:
        raise RuntimeError("no kernel\nfor this")

    monkeypatch.setattr(verdict, "measured", broken)
    (only,) = verdict.check(PLAIN).checks
    assert (only.name, only.ok, only.expected, only.got) == ("twin", False, None, None)
    assert only.hint == "the twin cannot be made of this card: RuntimeError: no kernel for this"


# Embedding and head 2 × 32·16, per layer: q and o 2 × 16·32, k and v 2 × 16·16, mlp 3 × 16·24,
# norms 2 × 16; a last norm of 16. Two layers: 1024 + 2 · (1024 + 512 + 1152 + 32) + 16 = 6480.
SUM = 6480


def _published(params: int, of: ModelCard = PLAIN) -> verdict.Check:
    published = Published(params=params, relation="total", source="by hand")
    found = verdict.check(replace(of, published=published))
    (one,) = [each for each in found.checks if each.name == "published"]
    assert all(each.ok for each in found.checks if each is not one)
    return one


def test_a_published_count_that_the_card_sums_to_agrees() -> None:
    one = _published(SUM)
    assert (one.ok, one.expected, one.got) == (True, SUM, SUM)


def test_listed_tensors_and_prediction_heads_count_where_the_file_holds_them() -> None:
    """A head: 3 norms, 2·16·16 and a layer of 2720."""
    stored = replace(PLAIN, stored=(Tensor(name="mask", shape=(10, 10)),), mtp=Mtp(block="one"))
    assert _published(SUM + 100, stored).ok
    assert _published(SUM + 100 + 3 * 16 + 512 + 2720, stored).ok
    assert not _published(SUM + 99, stored).ok


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (2 * 2 * 16 * 16, "num_kv_heads left out"),  # two layers, k and v, two more heads of 8
        (-512, "tied: true"),
        (2 * (32 + 2 * 16), "qkv_bias: true"),
        (2 * 3 * 16 * 8, "intermediate_size: 32"),
        (2720, "layers: [3*one]"),
        (2 * 16 * 32, "vocab_size: 64"),
        (2 * 2 * 8, "qk_norm: head"),
    ],
)
def test_a_wrong_field_shows_in_the_published_count_and_is_named(missing: int, told: str) -> None:
    one = _published(SUM + missing)
    assert (one.ok, one.expected, one.got) == (False, SUM + missing, SUM)
    assert told in one.hint.partition("would agree with ")[2]
    assert f"{abs(missing):,} too {'few' if missing > 0 else 'many'}" in one.hint
    assert len(one.paths) <= 4


def test_a_copy_of_a_tied_head_in_the_file_is_recognised() -> None:
    tied = replace(PLAIN, embedding=Embedding(tied=True))
    one = _published(SUM, tied)
    assert "a copy of the tied head: stored: [{name: lm_head.weight, shape: [32, 16]}]" in one.hint


def test_a_difference_that_no_field_explains_says_so() -> None:
    assert "no single field explains it" in _published(SUM + 1).hint

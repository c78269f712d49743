"""The verdict on a card: its published count, and every quantity of both witnesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

from llmcalc.blueprint import lower
from llmcalc.catalog.wording import Path
from llmcalc.checks import corrections as search
from llmcalc.checks import reasons
from llmcalc.checks.blueprint_numbers import computed
from llmcalc.checks.mtp_numbers import measured_mtp
from llmcalc.checks.quantities import NAMES, Quantities, Sizes, sizes
from llmcalc.checks.twin_numbers import measured
from llmcalc.engines import params
from llmcalc.spec.card import ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison."""

    name: str
    """schema, published, blueprint, twin, or a quantity."""
    expected: int | None
    """Published, or as blueprint and engines have it; None where there is no number."""
    got: int | None
    """Summed from the card, or as the twin has it."""
    ok: bool
    hint: str = ""
    """For a difference, what it may come from."""
    paths: tuple[Path, ...] = ()
    """Where in the card the likely fields stand, the likeliest first."""

    @property
    def difference(self) -> int | None:
        """Got less expected."""
        if self.got is None or self.expected is None:
            return None
        return self.got - self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCheck:
    """All comparisons of one card."""

    card: str
    checks: tuple[Check, ...]
    sizes: Sizes | None
    """What quantities were compared at; None where that could not be said."""

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return all(one.ok for one in self.checks)


def check(card: ModelCard) -> CardCheck:
    """Compare everything that can be compared; what cannot be built is a failed check."""
    published = _attempted("published", "the published count", partial(_published, card))
    try:
        at = sizes(card)
    except Exception as error:  # noqa: BLE001  (whatever a card does to it, the others are checked)
        blueprint = _impossible("blueprint", "the blueprint", error)
        return CardCheck(card=card.name, checks=(*published, blueprint), sizes=None)
    return CardCheck(card=card.name, checks=(*published, *_witnesses(card, at)), sizes=at)


def stored(card: ModelCard) -> dict[str, int]:
    """What the published file holds, by name: prediction heads where that comes nearer."""
    count = params.count(lower(card))
    items = {"parameters": count.total, "router correction biases": count.buffers}
    items |= {tensor.name: prod(tensor.shape) for tensor in card.stored}
    heads = count.mtp + count.mtp_buffers
    missing = (card.published.params if card.published else 0) - sum(items.values())
    if abs(missing - heads) <= abs(missing):
        items["multi-token prediction"] = heads
    return {name: size for name, size in items.items() if size}


def _published(card: ModelCard) -> tuple[Check, ...]:
    """The published count against the sum of all that the file holds."""
    if card.published is None:
        return ()
    target, items = card.published.params, stored(card)
    got = sum(items.values())
    if got == target:
        return (Check(name="published", expected=target, got=got, ok=True),)
    found = search.corrections(card, lambda one: sum(stored(one).values()), target)
    told = " + ".join(f"{name} {size:,}" for name, size in items.items())
    why = reasons.of_published(card, target - got, found)
    return (
        Check(
            name="published", expected=target, got=got, ok=False, hint=f"{told}; {why}",
            paths=(*(one.path for one in found), ("published",)),
        ),
    )  # fmt: skip


def _witnesses(card: ModelCard, at: Sizes) -> tuple[Check, ...]:
    """Every quantity of the blueprint against the twin's."""
    try:
        ours = _computed(card, at)
    except Exception as error:  # noqa: BLE001
        return (_impossible("blueprint", "the blueprint", error),)
    try:
        theirs = _numbers(card, measured(card, at), measured_mtp(card))
    except Exception as error:  # noqa: BLE001
        return (_impossible("twin", "the twin", error),)
    wrong = {name for name, value in ours.items() if theirs[name] != value}
    why, paths = _difference(card, at, wrong, theirs) if wrong else ("", ())
    return tuple(
        Check(
            name=name, expected=value, got=theirs[name], ok=name not in wrong,
            hint=why if name in wrong else "", paths=paths if name in wrong else (),
        )
        for name, value in ours.items()
    )  # fmt: skip


def _numbers(card: ModelCard, found: Quantities, mtp: int) -> dict[str, int]:
    numbers = {name: int(getattr(found, name)) for name in NAMES}
    return numbers | ({"mtp": mtp} if card.mtp else {})


def _computed(card: ModelCard, at: Sizes) -> dict[str, int]:
    return _numbers(card, computed(card, at), _heads(card))


def _heads(card: ModelCard) -> int:
    count = params.count(lower(card))
    return count.mtp + count.mtp_buffers


def _difference(
    card: ModelCard, at: Sizes, wrong: set[str], theirs: dict[str, int]
) -> tuple[str, tuple[Path, ...]]:
    """What two witnesses of one card differ in, as words and as places in the card."""
    first = next(name for name in ("params", *theirs) if name in wrong)

    def count(one: ModelCard) -> int:
        if first == "params":
            return params.count(lower(one)).total
        if first == "mtp":
            return _heads(one)
        return int(getattr(computed(one, at), first))

    def agrees(one: ModelCard) -> bool:
        return _computed(one, at) == theirs

    found = search.corrections(card, count, theirs[first], agrees)
    return reasons.of_witnesses(wrong, found), tuple(one.path for one in found)


def _attempted(name: str, what: str, make: Callable[[], tuple[Check, ...]]) -> tuple[Check, ...]:
    try:
        return make()
    except Exception as error:  # noqa: BLE001
        return (_impossible(name, what, error),)


def _impossible(name: str, what: str, error: Exception) -> Check:
    told = " ".join(str(error).split())[:200]
    hint = f"{what} cannot be made of this card: {type(error).__name__}: {told}".rstrip(": ")
    return Check(name=name, expected=None, got=None, ok=False, hint=hint)

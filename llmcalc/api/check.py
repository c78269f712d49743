"""`check`: every number of a card held against another witness, to the integer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from llmcalc.api import check_tables
from llmcalc.api.extras import needs_torch
from llmcalc.catalog.card_files import CardFile, card_files
from llmcalc.errors import InvalidFileError, Problem
from llmcalc.report.model import Report
from llmcalc.spec.card import ModelCard

if TYPE_CHECKING:
    from llmcalc.checks.verdict import CardCheck, Check

Format = Literal["text", "json", "github", "junit"]

DIFFERENT = 6

HOW = {
    "expected": "the published count, or what blueprint and engines compute",
    "got": "the sum of the card, or what torch counts in modules on the meta device",
    "flops": "FLOPs of the whole s × s product, as torch counts",
    "dtype": "bf16",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckItem:
    """One comparison."""

    name: str
    """schema, published, or a quantity; blueprint or twin where one of them cannot be made."""
    expected: int | None
    got: int | None
    ok: bool
    hint: str
    """For a difference: what it may come from."""
    line: int
    """Of the likely field in the card's file; 0: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """All comparisons of one card."""

    card: str
    """Its name, or its file where that holds no card."""
    file: str | None
    checks: tuple[CheckItem, ...]
    ok: bool
    basis: Literal["exact"]
    assumptions: Mapping[str, str | int]


class Listener:
    """Hears how far the work is. This one says nothing."""

    def problem(self, error: InvalidFileError) -> None:
        """A file that holds no card."""

    def begins(self, cards: int) -> None:
        """Before torch loads."""

    def checked(self, done: int, cards: int, name: str) -> None:
        """After each card."""

    def ends(self) -> None:
        """After the last, or an interruption."""


def check(names: Sequence[str] = (), listener: Listener | None = None) -> Report:
    """Check the named cards, files and folders, or the whole catalog.

    The exit code is 4 where a file holds no card, else 6 where a number differs. Raises
    UnknownNameError for a name that means nothing, MissingExtraError without torch.
    """
    listener = listener or Listener()
    results, loaded = [], []
    for file in card_files(names):
        try:
            loaded.append((file, file.card()))
        except InvalidFileError as error:
            listener.problem(error)
            results.append(_invalid(file, error))
    code = InvalidFileError.exit_code if results else 0
    if loaded:
        results += _checked(loaded, listener)
    if not code and not all(one.ok for one in results):
        code = DIFFERENT
    return Report(
        command="check",
        results=tuple(results),
        tables=check_tables.tables(results),
        text=check_tables.summary(results),
        assumptions=tuple(f"{name}: {what}" for name, what in HOW.items()),
        exit_code=code,
    )


def _checked(loaded: list[tuple[CardFile, ModelCard]], listener: Listener) -> list[CheckResult]:
    needs_torch("check")
    listener.begins(len(loaded))
    from llmcalc.checks.verdict import check as check_card  # noqa: PLC0415  (torch: seconds)

    results = []
    try:
        for done, (file, card) in enumerate(loaded, start=1):
            results.append(_result(file, check_card(card)))
            listener.checked(done, len(loaded), card.name)
    finally:
        listener.ends()
    return results


def _result(file: CardFile, found: CardCheck) -> CheckResult:
    at = found.sizes
    tokens: dict[str, str | int] = {"batch": at.batch, "tokens": at.tokens} if at else {}
    items = (_item(file, one) for one in found.checks)
    return CheckResult(
        card=found.card,
        file=_shown(file.file),
        checks=(_schema(0), *items),
        ok=found.ok,
        basis="exact",
        assumptions={**HOW, **tokens},
    )


def _item(file: CardFile, one: Check) -> CheckItem:
    line = 0
    if not one.ok:
        line = next(filter(None, map(file.line, one.paths)), 1 if file.file else 0)
    return CheckItem(
        name=one.name, expected=one.expected, got=one.got, ok=one.ok, hint=one.hint, line=line
    )


def _invalid(file: CardFile, error: InvalidFileError) -> CheckResult:
    """A file without a card: one failed comparison a mistake."""
    shown = _shown(file.file)
    return CheckResult(
        card=shown or file.name,
        file=shown,
        checks=tuple(_mistake(file, problem) for problem in error.problems),
        ok=False,
        basis="exact",
        assumptions=HOW,
    )


def _schema(mistakes: int) -> CheckItem:
    return CheckItem(name="schema", expected=0, got=mistakes, ok=not mistakes, hint="", line=0)


def _mistake(file: CardFile, problem: Problem) -> CheckItem:
    """A mistake of a file; its message starts with the place."""
    found = re.match(rf"{re.escape(file.file or '')}:(?:(\d+):)? *(.*)", problem.message, re.DOTALL)
    line, told = (found[1], found[2]) if found else (None, problem.message)
    hint = f"{told}; {problem.hint}" if problem.hint else told
    return CheckItem(name="schema", expected=0, got=1, ok=False, hint=hint, line=int(line or 1))


def _shown(file: str | None) -> str | None:
    """The file as seen from here where it stands below, as annotations need it."""
    if file is None:
        return None
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative

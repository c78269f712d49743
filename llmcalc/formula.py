"""Formulas that explain themselves.

A formula is a tiny pure function of numbers under a decorator that holds its text and its source.
While nobody records, a call costs one comparison more. Under `recording()` each call leaves a Step:
the text, the values put in, the result. Texts are evaluated by the tests with the recorded values,
so they cannot drift from the code; the shapes of weights are computed from their texts anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, wraps
from math import ceil, exp, sqrt
from types import CodeType
from typing import Any, ParamSpec

Number = int | float
P = ParamSpec("P")

_SYMBOL = r"[A-Za-z_]\w*"
_FUNCTIONS: dict[str, Any] = {
    "__builtins__": {}, "min": min, "max": max, "ceil": ceil, "int": int, "exp": exp, "sqrt": sqrt,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a worked solution: `name = text = text with values = result`."""

    name: str
    text: str
    values: Mapping[str, Number]
    result: Number
    unit: str = ""
    basis: str = "exact"
    source: str = ""
    note: str = ""

    @property
    def substituted(self) -> str:
        """The text with the values in place of the symbols."""
        return re.sub(_SYMBOL, lambda match: _shown(self.values.get(match[0], match[0])), self.text)


_recorded: list[Step] | None = None
_subject = ""
_NOTHING = nullcontext()


@contextmanager
def recording() -> Iterator[list[Step]]:
    """Collect the steps of every formula called inside; recordings do not nest into each other."""
    global _recorded  # noqa: PLW0603  one recorder a process; formulas are pure otherwise
    before, _recorded = _recorded, []
    try:
        yield _recorded
    finally:
        _recorded = before


@contextmanager
def quietly() -> Iterator[None]:
    """Record nothing inside: a search asks for many totals, of which none is the answer."""
    global _recorded  # noqa: PLW0603
    before, _recorded = _recorded, None
    try:
        yield
    finally:
        _recorded = before


def symbol(*names: str) -> str:
    """One symbol of a formula for what has these names: `dense`, `q` make `dense_q`."""
    return "_".join(names).replace(".", "_").replace("-", "_").replace(" ", "_")


def about(subject: str) -> AbstractContextManager[None]:
    """Name the steps of formulas called inside for what they are about, as `dense_q_proj`."""
    return _NOTHING if _recorded is None else _named(subject)


@contextmanager
def _named(subject: str) -> Iterator[None]:
    global _subject  # noqa: PLW0603
    before, _subject = _subject, subject
    try:
        yield
    finally:
        _subject = before


def record(step: Step) -> None:
    """Add a step that is no single formula, as a sum over named parts."""
    if _recorded is not None:
        _recorded.append(step)


def record_sum(
    name: str, terms: Mapping[Any, Number], unit: str = "", basis: str = "exact"
) -> None:
    """Add the step `name = first + second + …` over the terms that are not zero."""
    if _recorded is not None:
        kept = {symbol: value for symbol, value in terms.items() if value} or dict(terms)
        total = sum(terms.values())
        record(
            Step(
                name=name, text=" + ".join(kept), values=kept, result=total, unit=unit, basis=basis
            )
        )


def is_recording() -> bool:
    """Whether a step would be kept, for callers that build one at some cost."""
    return _recorded is not None


def formula(
    text: str, *, source: str, unit: str = "", basis: str = "exact"
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Attach the text and the source of a formula to the function that computes it.

    The symbols of the text are the names of the function's parameters, called with keywords.
    """

    def attach(function: Callable[P, Any]) -> Callable[P, Any]:
        name = function.__name__

        @wraps(function)
        def wrapper(*args: P.args, **values: P.kwargs) -> Any:
            result = function(*args, **values)
            if _recorded is not None:
                given: dict[str, Any] = dict(values)
                _recorded.append(
                    Step(
                        name=_subject or name,
                        text=text,
                        values=given,
                        result=result,
                        unit=unit,
                        basis=basis,
                        source=source,
                    )
                )
            return result

        return wrapper

    return attach


def evaluate(text: str, values: Mapping[str, Number]) -> Number:
    """The number that a text means: products by ·, sums, quotients, and _FUNCTIONS."""
    result: Number = eval(compiled(text), _FUNCTIONS, dict(values))  # noqa: S307  texts are this package's own
    return result


@cache
def compiled(text: str) -> CodeType:
    """A text as code; `·` and `×` multiply."""
    return compile(text.replace("·", "*").replace("×", "*").replace("−", "-"), "<formula>", "eval")


def _shown(value: Number | str) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)

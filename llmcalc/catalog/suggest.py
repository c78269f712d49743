"""Did you mean: the known word nearest to one that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

_FEW = 16


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a slip of, or None."""
    from difflib import get_close_matches  # noqa: PLC0415  (only on the way to an error)

    spelled = {one.lower(): one for one in known}
    found = get_close_matches(word.lower(), spelled, n=1, cutoff=0.6)
    return spelled[found[0]] if found else None


def did_you_mean(word: str, known: tuple[str, ...]) -> str:
    """A hint: the nearest known word, else all of them."""
    best = nearest(word[:100], known)
    if best:
        return f"did you mean {best}?"
    return f"known are {', '.join(known)}" if len(known) <= _FEW else "`llmcalc schema` lists all"

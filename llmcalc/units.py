"""Sizes and counts as people write them, and as we print them."""

from __future__ import annotations

import re

from llmcalc.errors import UsageError

LONGEST = 40
"""Characters of a number; more are a mistake."""

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

NUMBER = r"\s*(-?[0-9][0-9_,]*)(?:\.([0-9]+))?(?:[eE][+]?([0-9]{1,2}))?\s*([A-Za-z]*)\s*$"
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12, "p": 10**15}
_BINARY = {"": 1, "k": 2**10, "m": 2**20}
_BYTES = {"": 1, "b": 1} | {
    prefix + suffix: (1024 if "i" in suffix else 1000) ** power
    for power, prefix in enumerate("kmgtp", start=1)
    for suffix in ("b", "ib", "i")
}


def count(text: str | int) -> int:
    """A number of things: 16, 1_000, 1.5T (decimal suffixes k, M, B or G, T, P)."""
    return _parsed(text, _DECIMAL, "a count", "write it as 16, 2.5k or 1.5T")


def counts(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """Several counts: 10,12,10."""
    return text if isinstance(text, tuple) else tuple(count(one) for one in text.split(","))


def length(text: str | int) -> int:
    """A number of tokens in a sequence: 4096, 4k, 128K, 1M; binary, as context lengths are."""
    return _parsed(
        text, _BINARY, "a number of tokens", "write it as 4096, 4k (4,096) or 128k (131,072)"
    )


def size(text: str | int) -> int:
    """A number of bytes: 80GB (decimal), 80GiB (binary) or plain bytes."""
    return _parsed(text, _BYTES, "a size", "write it as 80GB (10^9), 80GiB (2^30) or plain bytes")


def _parsed(text: str | int, factors: dict[str, int], what: str, hint: str) -> int:
    if isinstance(text, int):
        return text  # a default, which an option passes through its parser too
    match = re.match(NUMBER, text) if len(text) < LONGEST else None
    factor = factors.get(match[4].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"{text[:LONGEST]!r} is not {what}", hint=hint)
    whole, decimals, exponent = (
        match[1].replace("_", "").replace(",", ""),
        match[2] or "",
        match[3] or "0",
    )
    value: int
    value, rest = divmod(int(whole + decimals) * factor * 10 ** int(exponent), 10 ** len(decimals))
    if rest and what != "a size":
        raise UsageError(f"{text!r} is not a whole number", hint=hint)
    if value > 10**18:
        raise UsageError(f"{text!r} is too large", hint=hint)
    return value

"""Data that ships beside the code: engines, and the formats that weights are stored in."""

from __future__ import annotations

from functools import lru_cache

from llmcalc.catalog.policy import remark_free, resolved, split_group
from llmcalc.catalog.shelf import Shelf, canonical
from llmcalc.spec.quantization import PolicyFile, Quantization
from llmcalc.spec.runtime import Runtime
from llmcalc.spec.storage import Scheme

RUNTIMES: Shelf[Runtime] = Shelf(kind=Runtime, word="runtime", folder="runtimes")
POLICIES: Shelf[PolicyFile] = Shelf(kind=PolicyFile, word="weight format", folder="quantization")
SCHEMES: Shelf[Scheme] = Shelf(kind=Scheme, word="scheme of weight formats", folder="schemes")


def runtimes() -> tuple[Runtime, ...]:
    """Every runtime, by name."""
    return RUNTIMES.all()


@lru_cache(maxsize=64)
def runtime(name: str) -> Runtime:
    """The runtime of that name or alias. Raises UsageError where there is none."""
    return RUNTIMES.named(name)


def quantization(name: str) -> Quantization:
    """The weight format of that name or alias, as people and logs write it.

    `-g64` behind a name sets the columns that share a scale. Raises UsageError where there is none.
    """
    return _quantization(canonical(remark_free(name)), name)


@lru_cache(maxsize=256)
def _quantization(wanted: str, shown: str) -> Quantization:
    if found := POLICIES.find(wanted):
        return _whole(found)
    base, group = split_group(wanted)
    found = POLICIES.find(base) if group else None
    if found is None or found.group is None:
        raise POLICIES.unknown(shown)
    return resolved(found, _scheme(found.scheme), group)


def quantizations() -> tuple[Quantization, ...]:
    """Every weight format, the widest first."""
    return _quantizations()


@lru_cache(maxsize=1)
def _quantizations() -> tuple[Quantization, ...]:
    return tuple(sorted(map(_whole, POLICIES.all()), key=lambda one: -one.bits))


@lru_cache(maxsize=256)
def _whole(found: PolicyFile) -> Quantization:
    return resolved(found, _scheme(found.scheme), found.group)


@lru_cache
def _scheme(name: str) -> Scheme:
    return SCHEMES.named(name)

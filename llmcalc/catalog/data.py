"""Data that ships beside the code: runtimes, number formats and training recipes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

from llmcalc.catalog.policy import remark_free, resolved, split_group
from llmcalc.catalog.shelf import Shelf, canonical
from llmcalc.catalog.suggest import nearest
from llmcalc.errors import UsageError
from llmcalc.spec.algorithm import Algorithm
from llmcalc.spec.efficiency import Efficiency
from llmcalc.spec.framework import Framework
from llmcalc.spec.optimizer import Optimizer
from llmcalc.spec.quantization import PolicyFile, Quantization
from llmcalc.spec.recipe import Recipe
from llmcalc.spec.runtime import Runtime
from llmcalc.spec.storage import Scheme
from llmcalc.spec.utilisation import Utilisation

RUNTIMES: Shelf[Runtime] = Shelf(kind=Runtime, word="runtime", folder="runtimes")
POLICIES: Shelf[PolicyFile] = Shelf(kind=PolicyFile, word="weight format", folder="quantization")
SCHEMES: Shelf[Scheme] = Shelf(kind=Scheme, word="scheme of weight formats", folder="schemes")
EFFICIENCIES: Shelf[Efficiency] = Shelf(
    kind=Efficiency, word="efficiency file", folder="efficiency"
)
UTILISATIONS: Shelf[Utilisation] = Shelf(
    kind=Utilisation, word="utilisation file", folder="utilisation"
)
RECIPES: Shelf[Recipe] = Shelf(kind=Recipe, word="precision recipe", folder="recipes")
OPTIMIZERS: Shelf[Optimizer] = Shelf(kind=Optimizer, word="optimizer", folder="optimizers")
FRAMEWORKS: Shelf[Framework] = Shelf(kind=Framework, word="training framework", folder="frameworks")
ALGORITHMS: Shelf[Algorithm] = Shelf(kind=Algorithm, word="algorithm", folder="rlhf")


def runtimes() -> tuple[Runtime, ...]:
    """Every runtime, by name."""
    return RUNTIMES.all()


@lru_cache(maxsize=64)
def runtime(name: str) -> Runtime:
    """The runtime of that name or alias. Raises UsageError where there is none."""
    return RUNTIMES.find(name) or _unknown(RUNTIMES, name)


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
        return _unknown(POLICIES, shown)
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
    return SCHEMES.find(name) or _unknown(SCHEMES, name)


@lru_cache(maxsize=64)
def efficiency(name: str) -> Efficiency:
    """What engines reach of a device's peaks. Raises UsageError where there is no such file."""
    return EFFICIENCIES.find(name) or _unknown(EFFICIENCIES, name)


@lru_cache(maxsize=4)
def utilisation(name: str = "training") -> Utilisation:
    """What training reaches of a device's peaks. Raises UsageError where there is no such file."""
    return UTILISATIONS.find(name) or _unknown(UTILISATIONS, name)


def recipe(name: str) -> Recipe:
    """The training recipe of that name or alias. Raises UsageError where there is none."""
    return RECIPES.find(name) or _unknown(RECIPES, name)


def optimizer(name: str) -> Optimizer:
    """The optimizer of that name or alias. Raises UsageError where there is none."""
    return OPTIMIZERS.find(name) or _unknown(OPTIMIZERS, name)


def framework(name: str) -> Framework:
    """The training framework of that name or alias. Raises UsageError where there is none."""
    return FRAMEWORKS.find(name) or _unknown(FRAMEWORKS, name)


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name or alias. Raises UsageError where there is none."""
    return ALGORITHMS.find(name) or _unknown(ALGORITHMS, name)


def _unknown(shelf: Shelf[Any], name: str) -> NoReturn:
    known = shelf.names()
    best = nearest(name.lower()[:100], known)
    hint = f"did you mean {best}?" if best else f"have: {', '.join(known)}"
    raise UsageError(f"no {shelf.word} named {name[:100]!r}", hint=hint)

"""Data that ships beside the code: what engines and training reach of the peaks of devices."""

from __future__ import annotations

from functools import lru_cache

from llmcalc.catalog.shelf import Shelf
from llmcalc.spec.efficiency import Efficiency
from llmcalc.spec.utilisation import Utilisation

EFFICIENCIES: Shelf[Efficiency] = Shelf(
    kind=Efficiency, word="efficiency file", folder="efficiency"
)
UTILISATIONS: Shelf[Utilisation] = Shelf(
    kind=Utilisation, word="utilisation file", folder="utilisation"
)


@lru_cache(maxsize=64)
def efficiency(name: str) -> Efficiency:
    """What engines reach of a device's peaks. Raises UsageError where there is no such file."""
    return EFFICIENCIES.named(name)


@lru_cache(maxsize=4)
def utilisation(name: str = "training") -> Utilisation:
    """What training reaches of a device's peaks. Raises UsageError where there is no such file."""
    return UTILISATIONS.named(name)

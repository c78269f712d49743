"""Published utilisation as a default: the median of a class of devices and a size of model."""

from __future__ import annotations

from llmcalc.engines.steptime.machine import reach_of
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.utilisation import PublishedMfu, Utilisation, WholeRun

BILLION = 10**9


def published_mfu(every: Utilisation, gpu: GpuSpec, params: int) -> PublishedMfu:
    """Published MFU of the class of a GPU and of models of about so many parameters.

    Of a class without rows, those of the first class; of a size without rows, the nearest size.
    """
    name = reach_of(every, gpu).name
    own = [one for one in every.published if one.devices == name]
    found = own or [one for one in every.published if one.devices == every.published[0].devices]
    return min(found, key=lambda one: _apart(one, params / BILLION))


def whole_run(every: Utilisation, gpu: GpuSpec) -> WholeRun:
    """What share of a whole run's GPU-hours is steady training, as publishers' own hours tell."""
    name = reach_of(every, gpu).name
    found = [one for one in every.whole_run if one.devices == name]
    return (found or [max(every.whole_run, key=lambda one: one.n)])[0]


def _apart(one: PublishedMfu, billions: float) -> float:
    """How far a size lies from a class of sizes, as a ratio; 1 inside."""
    if billions > one.up_to:
        return billions / one.up_to
    return one.above / billions if billions <= one.above else 1.0

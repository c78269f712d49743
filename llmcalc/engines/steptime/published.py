"""Published utilisation as a default: the median of a class of devices and a size of model."""

from __future__ import annotations

from llmcalc.engines.steptime.machine import reach_of
from llmcalc.spec.gpu import GpuSpec
from llmcalc.spec.utilisation import PublishedMfu, Utilisation, WholeRun

BILLION = 10**9


def published_mfu(every: Utilisation, gpu: GpuSpec, params: int) -> PublishedMfu | None:
    """Published MFU of the class of a GPU and of models of about so many parameters.

    Of a size without rows, that of the nearest size; None for a class without rows.
    """
    name = reach_of(every, gpu).name
    own = (one for one in every.published if one.devices == name)
    return min(own, key=lambda one: _apart(one, params / BILLION), default=None)


def whole_run(every: Utilisation, gpu: GpuSpec) -> WholeRun | None:
    """What share of a whole run's GPU-hours is steady training, as publishers' own hours tell.

    None for a class without rows.
    """
    name = reach_of(every, gpu).name
    return next((one for one in every.whole_run if one.devices == name), None)


def _apart(one: PublishedMfu, billions: float) -> float:
    """How far a size lies from a class of sizes, as a ratio; 1 inside."""
    if billions > one.up_to:
        return billions / one.up_to
    return one.above / billions if billions <= one.above else 1.0

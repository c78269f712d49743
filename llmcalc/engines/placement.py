"""What of a model stands on the devices, and what stays in the memory of the host."""

from __future__ import annotations

from collections import Counter

from llmcalc.blueprint.operations import Ledger, Section
from llmcalc.blueprint.shard import with_own_head
from llmcalc.engines.serving import Serving


def placed(ledger: Ledger, serving: Serving) -> tuple[Ledger, Ledger]:
    """The operations whose weights are on devices, and those whose weights are on the host."""
    if not (serving.runtime.embedding_on_host and serving.on_device):
        return ledger, ledger._replace(sections=(), order=())
    asked = serving.settings.n_gpu_layers
    depth = len(ledger.order)
    output = asked is None or asked > depth
    first = 0 if asked is None else max(0, depth - asked)
    device = _part(ledger, ledger.order[first:], ends={"beside", "last"} if output else {"beside"})
    host = _part(ledger, ledger.order[:first], ends={"first"} if output else {"first", "last"})
    return device._replace(before=ledger.before + first), host


def _part(ledger: Ledger, layers: tuple[str, ...], ends: set[str]) -> Ledger:
    """The sections of some layers, and of some of what stands before and after them.

    A tied head far from its embedding is a copy.
    """
    times = Counter(layers)
    kept: list[Section] = []
    for section in ledger.sections:
        if section.kind == "layer" and times[section.name]:
            kept.append(section._replace(times=times[section.name]))
        elif section.kind in ends:
            alone = section.kind == "last" and "first" not in ends
            kept.append(with_own_head(section) if alone else section)
    return ledger._replace(sections=tuple(kept), order=layers, mtp=(), whole=ledger.whole or ledger)

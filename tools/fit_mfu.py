"""Fit what training reaches of a device's peaks on public throughput.

Usage: python tools/fit_mfu.py          (writes llmcalc/utilisation/training.yaml; a few minutes)
       python tools/fit_mfu.py --reported     (keeps the fit; what publishers report anew)

The constants are searched at random, narrower each time, for the smallest mean error of tokens a
second on the rows of llmcalc/measurements/training_throughput.tsv and training_memory.tsv that tell
it. A row counts by one over the root of how many there are of its publisher and GPU, and no more
than CAP: a run that waits for something we do not model must not bend the rest. Beside it stand the
errors on publishers that were left out of the search, published MFU by class of devices and size,
and what share of whole runs' GPU-hours our steady rate explains.
"""

from __future__ import annotations

import json
import pathlib
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import log
from typing import Any

from llmcalc.api.predict_training_time import steady_hours
from llmcalc.blueprint import lower
from llmcalc.catalog.rates import utilisation
from llmcalc.checks.measured.cases_of_training_time import TimeCase, hours, training_time
from llmcalc.checks.measured.cells import number
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.statistics import quantile
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines import params
from llmcalc.engines.device import applies
from llmcalc.engines.steptime.amounts import Amounts, amounts
from llmcalc.engines.steptime.machine import machine, reach_of
from llmcalc.engines.steptime.pace import TrainStep, train_step
from llmcalc.spec.efficiency import Devices
from llmcalc.spec.utilisation import PublishedMfu, TrainingReach, Utilisation, WholeRun

ROOT = pathlib.Path(__file__).parents[1] / "llmcalc"
DATA = ("training_throughput.tsv", "training_memory.tsv")
HOURS = ROOT / "measurements" / "training_gpu_hours.tsv"
TARGET = ROOT / "utilisation" / "training.yaml"
CAP = 0.5
BITS = 16
ROUNDS, TRIES, SEEDS = 6, 500, 4
SIZES = ((0.0, 1.0), (1.0, 10.0), (10.0, 100.0), (100.0, 10_000.0))
"""Billions of parameters."""

SHARED = {
    "element_copies": (80.0, 0.0, 400.0), "logit_copies": (40.0, 0.0, 300.0),
    "layer_seconds": (5e-5, 0.0, 3e-4), "tensor_link": (0.5, 0.1, 1.0),
    "experts": (0.6, 0.1, 1.0),
    "nvlink.link": (0.7, 0.05, 1.0), "nvlink.overlap": (0.7, 0.0, 1.0),
    "pcie.link": (0.5, 0.05, 1.0), "pcie.overlap": (0.3, 0.0, 1.0),
    "pcie.attention": (0.4, 0.1, 0.7),
}  # fmt: skip
"""Start and bounds of what classes share; experts is a share of matmul."""
OWN = {"matmul": (0.65, 0.1, 0.95), "attention": (0.4, 0.1, 0.95)}
"""The same of each class; where rows are few, attention is shared too."""
PCIE = ("geforce", "workstation")
FITTED = "reach: tools/fit_mfu.py; network: "
CLASSES: tuple[tuple[str, Devices, float, str], ...] = (
    ("ampere", Devices(starts=("a100", "a800")), 25.0,
     FITTED + "DGX A100 has a 200 Gb/s card for each GPU"),
    ("hopper", Devices(starts=("h100", "h200", "h800", "h20", "gh200")), 50.0,
     FITTED + "DGX H100 has a 400 Gb/s card for each GPU"),
    ("blackwell", Devices(starts=("b200", "b300", "gb200", "gb300")), 50.0,
     FITTED + "DGX B200 has a 400 Gb/s card for each GPU"),
    ("geforce", Devices(starts=("rtx-20", "rtx-30", "rtx-40", "rtx-50", "titan")), 12.5,
     FITTED + "100 Gb/s, a guess, no row crosses nodes"),
    ("workstation", Devices(starts=("rtx-",)), 12.5,
     FITTED + "100 Gb/s, a guess, no row crosses nodes; two cards, one publisher"),
)  # fmt: skip
LITERATURE: tuple[tuple[str, float, float, str], ...] = (
    ("ampere", 22, 0.415, "arXiv:2205.05198, table 5"),
    ("ampere", 175, 0.514, "arXiv:2205.05198, table 5"),
    ("ampere", 530, 0.560, "arXiv:2205.05198, table 5"),
    ("ampere", 1008, 0.563, "arXiv:2205.05198, table 5"),
    ("hopper", 405, 0.43, "arXiv:2407.21783, table 4"),
    ("hopper", 405, 0.41, "arXiv:2407.21783, table 4"),
    ("hopper", 405, 0.38, "arXiv:2407.21783, table 4"),
)  # fmt: skip
"""Class, billions of parameters, MFU and where it was read: papers on runs that no row has."""
OTHERS, HOPPER = "others", "hopper"
Constants = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One row: what was asked, and how fast it was."""

    id: str
    publisher: str
    case: TimeCase
    work: Amounts
    measured: float


def rows() -> list[Timed]:
    """All rows of full configuration that tell tokens a second."""
    found = []
    for name in DATA:
        for row in read(str(ROOT / "measurements" / name)):
            measured = number(row.measured, "tok_s_gpu") if "tok_s_gpu" in row.measured else None
            if not measured:
                continue
            try:
                case = training_time(row.config)
            except Unusable:
                continue
            work = amounts(lower(case.card), case.run)
            publisher = row.config.get("framework", "").split()[0].split("/")[0]
            found.append(Timed(id=row.id, publisher=publisher, case=case, work=work,
                               measured=measured))  # fmt: skip
    return found


def built(constants: Constants) -> Utilisation:
    """The file that constants make."""
    classes = tuple(
        TrainingReach(
            name=name, devices=devices, network_gb_s=network, source=source,
            matmul=constants[f"{name}.matmul"],
            experts=_short(constants["experts"] * constants[f"{name}.matmul"]),
            attention=constants[f"{wire(name) if name in PCIE else name}.attention"],
            link=constants[f"{wire(name)}.link"],
            overlap=constants[f"{wire(name)}.overlap"],
        )
        for name, devices, network, source in CLASSES
    )  # fmt: skip
    rest = replace(classes[1], name=OTHERS, devices=Devices(), source="no rows: as Hopper")
    return Utilisation(
        name="training", title="Training", source="llmcalc/measurements/training_throughput.tsv",
        element_copies=constants["element_copies"], logit_copies=constants["logit_copies"],
        layer_seconds=constants["layer_seconds"], tensor_link=constants["tensor_link"],
        classes=(*classes, rest),
    )  # fmt: skip


def wire(name: str) -> str:
    """What devices of a class hang together by."""
    return "pcie" if name in PCIE else "nvlink"


def step(row: Timed, every: Utilisation) -> TrainStep:
    """What we say of one row."""
    reach = reach_of(every, row.case.gpu)
    peaks = machine(row.case.gpu, reach, bits=row.case.bits)
    return train_step(row.work, row.case.run, peaks, every, reach)


def error(row: Timed, every: Utilisation) -> float:
    """Relative, above 0 where too much was predicted."""
    return step(row, every).tokens_per_second_per_gpu / row.measured - 1


def bounds() -> dict[str, tuple[float, float, float]]:
    """Start and bounds of every constant."""
    own = {
        f"{one[0]}.{name}": range_
        for one in CLASSES
        for name, range_ in OWN.items()
        if name == "matmul" or one[0] not in PCIE
    }
    return SHARED | own


def fitted(every: Sequence[Timed], seeds: int = 1, last: Constants | None = None) -> Constants:
    """The constants of the smallest mean error that any of some searches finds.

    One more starts at the `last` constants, so that a new fit is no worse than the one before.
    """
    found = [_search(every, seed) for seed in range(seeds)]
    found += [_search(every, seeds, last)] if last else []
    return min(found, key=lambda one: _loss(every, _weights(every), one))


def constants(file: Utilisation) -> Constants:
    """The constants that a file was made of."""
    classes = {one.name: one for one in file.classes}
    ampere = file.classes[0]
    found = {name: getattr(file, name) for name in SHARED if hasattr(file, name)}
    found["experts"] = ampere.experts / ampere.matmul
    for name in bounds().keys() - found.keys():
        kind, rate = name.split(".")
        one = {"nvlink": ampere, "pcie": classes[PCIE[0]]}.get(kind) or classes[kind]
        found[name] = getattr(one, rate)
    return found


def _search(every: Sequence[Timed], seed: int, start: Constants | None = None) -> Constants:
    known = bounds()
    best = dict(start or {name: first for name, (first, _, _) in known.items()})
    weigh = _weights(every)
    least = _loss(every, weigh, best)
    chance = random.Random(seed)  # noqa: S311  a search, no secret
    for around in range(ROUNDS):
        for _ in range(TRIES):
            tried = dict(best)
            for name in chance.sample(sorted(known), chance.randint(1, 3)):
                _, low, high = known[name]
                moved = tried[name] + chance.gauss(0, 0.3 / 2**around) * (high - low)
                tried[name] = min(high, max(low, moved))
            loss = _loss(every, weigh, tried)
            if loss < least:
                best, least = tried, loss
    return best


def _weights(every: Sequence[Timed]) -> list[float]:
    counted = Counter((one.publisher, one.case.gpu.name) for one in every)
    return [counted[one.publisher, one.case.gpu.name] ** -0.5 for one in every]


def _loss(every: Sequence[Timed], weigh: Sequence[float], constants: Constants) -> float:
    file = built(constants)
    off = (min(CAP, abs(log(1 + error(one, file)))) for one in every)
    return sum(one * weight for one, weight in zip(off, weigh, strict=True)) / sum(weigh)


def left_out(every: Sequence[Timed]) -> dict[str, list[float]]:
    """Errors on the rows of each publisher, of constants found without it."""
    found = {}
    for publisher in sorted({one.publisher for one in every}):
        known = [one for one in every if one.publisher != publisher]
        others = built(_as_others(fitted(known), known))
        found[publisher] = [error(one, others) for one in every if one.publisher == publisher]
    return found


def _as_others(constants: Constants, every: Sequence[Timed]) -> Constants:
    """With Hopper's rates for a class that no row tells of, as devices of no class have them."""
    more = {
        f"{name}.{rate}": constants[f"{HOPPER}.{rate}"]
        for name, devices, *_ in CLASSES
        if not any(applies(devices, row.case.gpu) for row in every)
        for rate in OWN
        if f"{name}.{rate}" in constants
    }
    return constants | more


def published(every: Iterable[Timed], file: Utilisation) -> tuple[PublishedMfu, ...]:
    """MFU that the rows' own tokens a second make, by class and size; full training alone."""
    sets: defaultdict[tuple[str, tuple[float, float]], list[tuple[float, str]]] = defaultdict(list)
    for one in every:
        if one.case.run.adapters or one.case.bits < BITS:
            continue
        per_token = one.work.model / one.work.tokens
        peak = machine(one.case.gpu, reach_of(file, one.case.gpu)).compute
        active = params.count(lower(one.case.card)).active
        size = _size(active / 1e9)
        name = reach_of(file, one.case.gpu).name
        sets[name, size].append((one.measured * per_token / peak, one.publisher))
    for name, billions, mfu, source in LITERATURE:
        sets[name, _size(billions)].append((mfu, source))
    return tuple(
        PublishedMfu(
            devices=name, above=above, up_to=up_to, **_spread([mfu for mfu, _ in found]),
            n=len(found), sources=len({publisher for _, publisher in found}),
        )
        for (name, (above, up_to)), found in sorted(sets.items())
    )  # fmt: skip


def _size(billions: float) -> tuple[float, float]:
    """The class of sizes."""
    return next(size for size in SIZES if billions <= size[1])


def whole_runs(file: Utilisation) -> tuple[WholeRun, ...]:
    """Steady hours at the published median rate over published hours, by class."""
    sets: defaultdict[str, list[float]] = defaultdict(list)
    for row in read(str(HOURS)):
        told = number(row.measured, "gpu_hours")
        try:
            case = hours(row.config)
        except Unusable:
            continue
        if told:
            sets[reach_of(file, case.gpu).name].append(steady_hours(case, file) / told)
    source = "steady hours at published MFU over reported hours, training_gpu_hours.tsv"
    return tuple(
        WholeRun(devices=name, **_spread(found), n=len(found), source=source)
        for name, found in sorted(sets.items())
    )


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {f"p{round(100 * q)}": round(quantile(values, q), 3) for q in (0.1, 0.5, 0.9)}


def errors(every: Iterable[Timed], file: Utilisation, of: Callable[[Timed], object]) -> str:
    """A table of errors by group."""
    sets: defaultdict[object, list[float]] = defaultdict(list)
    for one in every:
        sets[of(one)].append(error(one, file))
    lines = []
    for name, found in sorted(sets.items(), key=str):
        sizes = [abs(one) for one in found]
        middle, worst, bias = quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(found, 0.5)
        lines.append(f"{name}: n {len(found)}, p50 {middle:.3f}, p90 {worst:.3f}, bias {bias:+.3f}")
    return "\n".join(lines)


def complete(every: Sequence[Timed], constants: Constants) -> Utilisation:
    """The file with errors and what was published."""
    file = built({name: _short(value) for name, value in constants.items()})
    classes = tuple(
        replace(one, n=len(own) or None, error_p50=_sized(own, 0.5) if own else None)
        for one in file.classes
        for own in [[error(row, file) for row in every if reach_of(file, row.case.gpu) is one]]
    )
    found = [error(row, file) for row in every]
    others = [one for errors in left_out(every).values() for one in errors]
    file = replace(
        file, classes=classes, n=len(found),
        error_p50=_sized(found, 0.5), error_p90=_sized(found, 0.9),
        left_out_p50=_sized(others, 0.5), left_out_p90=_sized(others, 0.9),
    )  # fmt: skip
    return reported(every, file)


def reported(every: Sequence[Timed], file: Utilisation) -> Utilisation:
    """The file with what publishers report."""
    file = replace(file, published=published(every, file))
    return replace(file, whole_run=whole_runs(file))


def _sized(found: Iterable[float], q: float) -> float:
    return round(quantile([abs(one) for one in found], q), 3)


def _short(value: float) -> float:
    """Three digits: more are not known."""
    return float(f"{value:.3g}")


def written(file: Utilisation) -> str:
    """The file as YAML."""
    lines = ["# written by tools/fit_mfu.py; do not edit"]
    for name, value in _plain(file).items():
        if isinstance(value, list):
            lines.append(f"{name}:")
            lines += [f"  - {json.dumps(one)}" for one in value]
        else:
            lines.append(f"{name}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """Without what is left at its default."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if not is_dataclass(value):
        return value
    kept = {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return {name: one for name, one in kept.items() if one not in (None, [], {})}


if __name__ == "__main__":
    timed = rows()
    last = utilisation()
    if "--reported" in sys.argv:
        file = reported(timed, last)
    else:
        file = complete(timed, fitted(timed, SEEDS, constants(last)))
    TARGET.write_text(written(file), "utf-8")
    print(written(file))
    print(errors(timed, file, lambda one: (one.publisher, one.case.gpu.name)))

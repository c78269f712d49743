"""Measurements that the user has saved, by name: `llmcalc bench --save NAME` writes them."""

from __future__ import annotations

import os
import re

import llmcalc
from llmcalc.catalog import files
from llmcalc.catalog.cache import Cache, cache
from llmcalc.catalog.shelf import canonical
from llmcalc.errors import UsageError
from llmcalc.spec.measurement import Measurement

VARIABLE = "LLMCALC_MEASUREMENTS"
"""Environment variable that names another folder."""
LONGEST = 80
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
"""As spec.limits.Name."""


def find(name: str) -> Measurement | None:
    """The measurement saved under that name, or None. Raises InvalidFileError for a broken file."""
    wanted = canonical(name)
    path = _path(wanted) if _is_name(wanted) else ""
    return read(path) if path and os.path.isfile(path) else None


def read(path: str) -> Measurement:
    """The measurement in a file. Raises UnknownNameError, InvalidFileError."""
    kept = _cache()
    try:
        return kept.value(files.content(path), path)
    finally:
        kept.save()


def names() -> tuple[str, ...]:
    """Every name under which something is saved."""
    try:
        with os.scandir(folder()) as entries:
            return tuple(sorted(one.name[:-5] for one in entries if one.name.endswith(".yaml")))
    except OSError:
        return ()


def save(measurement: Measurement, *, force: bool = False) -> str:
    """Write a measurement under its name; the path. Raises UsageError where one is there."""
    from llmcalc.catalog.write import measurement_yaml  # noqa: PLC0415  (only where one is saved)

    path = _path(measurement.name)
    try:
        os.makedirs(folder(), exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder()} cannot be made ({error.strerror})",
            hint=f"{VARIABLE} names another folder",
        ) from None
    files.put(path, measurement_yaml(measurement), force=force)
    return path


def free(name: str, *, force: bool) -> str:
    """The name as it will be saved. Raises UsageError where it is none, or taken."""
    wanted = canonical(name)
    if not _is_name(wanted):
        raise UsageError(
            f"{name[:100]!r} is no name to save under",
            hint="letters, digits, '.', '_' and '-', as my-box",
        )
    if not force and os.path.lexists(_path(wanted)):
        raise UsageError(f"a measurement {wanted!r} is saved already", hint="--force replaces it")
    return wanted


def folder() -> str:
    """Where measurements are saved: the user's data folder, or what LLMCALC_MEASUREMENTS names."""
    if chosen := os.environ.get(VARIABLE):
        return os.path.abspath(os.path.expanduser(chosen))
    from platformdirs import user_data_dir  # noqa: PLC0415  (14 ms, and rarely asked)

    return os.path.join(user_data_dir("llmcalc", appauthor=False), "measurements")


def _is_name(name: str) -> bool:
    return len(name) <= LONGEST and _NAME.fullmatch(name) is not None


def _path(name: str) -> str:
    return os.path.join(folder(), f"{name}.yaml")


def _cache() -> Cache[Measurement]:
    return cache(Measurement, f"measurements-{llmcalc.__version__}.pickle")

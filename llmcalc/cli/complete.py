"""Completion of names in the shell. It never fails: no catalog, no suggestion."""

from __future__ import annotations

from collections.abc import Callable


def model_names(incomplete: str) -> list[str]:
    """Models of the catalog that start so, names and aliases."""
    from llmcalc.catalog.find import card_names  # noqa: PLC0415  (only a shell that completes)

    return _starting(incomplete, card_names)


def gpu_names(incomplete: str) -> list[str]:
    """GPUs of the catalog that start so, names and aliases."""
    from llmcalc.catalog.find import gpu_names as names  # noqa: PLC0415

    return _starting(incomplete, names)


def names(incomplete: str) -> list[str]:
    """Models and GPUs that start so."""
    return model_names(incomplete) + gpu_names(incomplete)


def _starting(incomplete: str, names: Callable[[], tuple[str, ...]]) -> list[str]:
    try:
        return [name for name in names() if name.startswith(incomplete.lower())]
    except Exception:  # noqa: BLE001  (a shell has no place for an error)
        return []

"""Extras that a command cannot do without."""

from __future__ import annotations

from llmcalc.errors import MissingExtraError


def needs_torch(command: str) -> None:
    """Refuse at once, before a word about loading it. Raises MissingExtraError without torch."""
    from importlib.util import find_spec  # noqa: PLC0415  (start-up)

    if find_spec("torch") is None:
        raise MissingExtraError(
            f"{command} needs torch, which is not installed",
            hint="pip install 'llmcalc-proof[torch]'",
        )

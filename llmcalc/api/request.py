"""What is asked, checked before anything is computed."""

from __future__ import annotations

from llmcalc.errors import ImpossibleError
from llmcalc.spec.card import ModelCard


def at_least_one(**values: int | None) -> None:
    """Refuse a number below one. Raises ImpossibleError naming the option."""
    _at_least(1, values)


def not_negative(**values: int | None) -> None:
    """Refuse a number below zero. Raises ImpossibleError naming the option."""
    _at_least(0, values)


def _at_least(least: int, values: dict[str, int | None]) -> None:
    for name, value in values.items():
        if value is not None and value < least:
            option = "--" + name.replace("_", "-")
            raise ImpossibleError(
                f"{option} {value} is not possible", hint=f"{option} is at least {least}"
            )


def within_limit(card: ModelCard, tokens: int, *, option: str, force: bool) -> None:
    """Refuse more tokens than the model was made for, unless forced. Raises ImpossibleError."""
    limit = card.max_position_embeddings
    if limit and tokens > limit and not force:
        raise ImpossibleError(
            f"{option} {tokens:,} is over the {limit:,} tokens that {card.name} was made for",
            hint=f"ask for {option} {limit}, or --force to compute it all the same",
        )

"""Every error a user can meet, its exit code on the class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file: where and what, and what to do about it."""

    message: str
    hint: str = ""


class LlmcalcError(Exception):
    """One line saying what went wrong, one `hint` saying what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(LlmcalcError):
    """The command line cannot be understood."""

    exit_code = 2


class UnknownNameError(LlmcalcError):
    """No model or GPU of that name, and no file at that path."""

    exit_code = 3


class InvalidFileError(LlmcalcError):
    """A card, spec, config or measurement that does not say what it must say.

    `problems` holds one entry a mistake; `message` and `hint` are those of the first.
    """

    exit_code = 4

    def __init__(self, message: str, *, hint: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems or (Problem(message, hint),)

    @classmethod
    def of(cls, problems: tuple[Problem, ...]) -> InvalidFileError:
        """The error that carries all `problems`, at least one."""
        return cls(problems[0].message, hint=problems[0].hint, problems=problems)


class ImpossibleError(LlmcalcError):
    """Well-formed input that no machine could run: does not divide, over the model's limit."""

    exit_code = 5


class MissingExtraError(LlmcalcError):
    """The answer needs an optional dependency that is not installed."""

    exit_code = 7

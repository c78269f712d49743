"""How far a long command is, on stderr: one line that changes on a screen, few lines in a log."""

from __future__ import annotations

import sys
from time import monotonic

from llmcalc.api import bench
from llmcalc.api.check import Listener
from llmcalc.cli.failure import failed
from llmcalc.errors import InvalidFileError

SLOW = 20.0
"""Seconds after which a log hears that the work goes on."""


class Progress(Listener):
    """Tells what `check` does."""

    def __init__(self) -> None:
        self._screen = sys.stderr.isatty()
        self._last = monotonic()

    def problem(self, error: InvalidFileError) -> None:
        """The file's mistakes, as errors."""
        failed(error, debug=False)

    def begins(self, cards: int) -> None:
        """A word before torch takes its seconds."""
        what = "1 card" if cards == 1 else f"{cards} cards"
        self._last = monotonic()
        print(f"loading torch to check {what}", file=sys.stderr, flush=True)

    def checked(self, done: int, cards: int, name: str) -> None:
        """The line of a screen, or one of a log where it was silent for long."""
        if self._screen:
            print(f"\r\033[K{done} of {cards}: {name}", end="", file=sys.stderr, flush=True)
        elif monotonic() - self._last > SLOW:
            self._last = monotonic()
            print(f"checked {done} of {cards} cards", file=sys.stderr, flush=True)

    def ends(self) -> None:
        """Leave the screen's line empty for the answer."""
        if self._screen:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class BenchProgress(bench.Listener):
    """Tells what `bench` measures now."""

    def __init__(self) -> None:
        self._screen = sys.stderr.isatty()
        self._last = monotonic()

    def begins(self, what: str) -> None:
        """A word before torch takes its seconds."""
        print(what, file=sys.stderr, flush=True)

    def measures(self, what: str) -> None:
        """The line of a screen, or one of a log where it was silent for long."""
        if self._screen:
            print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
        elif monotonic() - self._last > SLOW:
            self._last = monotonic()
            print(f"measuring {what}", file=sys.stderr, flush=True)

    def ends(self) -> None:
        """Leave the screen's line empty for the answer."""
        if self._screen:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

"""What everything on a shelf has: a name and aliases."""

from __future__ import annotations

from typing import Protocol


class Named(Protocol):
    """A value that is found by its name or one of its aliases."""

    @property
    def name(self) -> str:
        """The canonical name, which is also the file's."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that people type."""
        ...

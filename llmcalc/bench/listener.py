"""Who hears how far a bench is."""

from __future__ import annotations


class Listener:
    """Hears what is measured now. This one says nothing."""

    def measures(self, what: str) -> None:
        """Before each figure."""

    def ends(self) -> None:
        """After the last, or an interruption."""

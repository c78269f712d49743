"""What torchrun tells each of the processes that it starts."""

from __future__ import annotations

import os


def rank() -> int | None:
    """This process among those that torchrun started; None where it started none."""
    told = os.environ.get("RANK", "")
    return int(told) if told.isdecimal() and "MASTER_ADDR" in os.environ else None


def local_rank() -> int:
    """This process among those on its host, and the device that it takes."""
    told = os.environ.get("LOCAL_RANK", "")
    return int(told) if told.isdecimal() else 0

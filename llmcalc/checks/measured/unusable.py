"""Why a row gives no prediction."""

from __future__ import annotations


class Unusable(Exception):  # noqa: N818  (no error: rows that say too little are expected)
    """A row, or a part of it, that says too little; the message tells what is missing."""

"""Architectures become operations here, and only here."""

from llmcalc.blueprint.lower import lower

__all__ = ["lower"]

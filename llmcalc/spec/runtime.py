"""Engines of other people as data: what they add to a model's own memory."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.spec.limits import Alias, Length, Line, Name, WidthOrZero


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """A number of bytes that an engine takes, and where it was read."""

    bytes: Length
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One inference engine."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    version: Line
    """The versions that its numbers hold for."""
    source: Line
    context: Overhead
    """The driver's context and loaded kernels, per GPU."""
    workspace: Overhead
    """Scratch memory of the matmul library, per GPU."""
    collectives: Overhead
    """Buffers of the communication library, per GPU, where several work on one model."""
    prefill_tokens: Length
    """Tokens of a prompt computed at a time."""
    prefill_tokens_source: Line
    logits_bytes: WidthOrZero
    """Bytes of one logit, its copies included."""
    logits_source: Line

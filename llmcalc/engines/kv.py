"""How much does the cache hold? Exact elements of keys, values and latents, by layer and window."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc import formula
from llmcalc.blueprint.operations import Cache, Ledger, Section, State

KV_BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "int4": 4}
"""Bits of one cached element; scales of quantised caches, one a layer, are not counted."""


STATE_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KvProfile:
    """Cached elements of a token of one sequence, summed over layers with the same window."""

    elements: tuple[tuple[int | None, int], ...]
    """(window or None, elements a token), the smallest window first, None last."""
    bits: int
    state: int = 0
    """Elements of one sequence that do not grow: states of recurrences, inputs of convolutions."""

    @property
    def state_bytes(self) -> int:
        """Bytes of the state of one sequence, in 16 bits whatever the cache is stored in."""
        return self.state * STATE_BYTES

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window."""
        return -(-sum(elements for _, elements in self.elements) * self.bits // 8)

    @property
    def bytes_per_token_beyond_windows(self) -> int:
        """Bytes that a token adds once every window is full."""
        growing = sum(elements for window, elements in self.elements if window is None)
        return -(-growing * self.bits // 8)

    def sequence(self, tokens: int) -> int:
        """Bytes of one sequence of `tokens`."""
        held = sum(elements * min(tokens, window or tokens) for window, elements in self.elements)
        return -(-held * self.bits // 8)

    def held(self, tokens: int) -> int:
        """Bytes of all that one sequence of `tokens` leaves behind, its state included."""
        return self.sequence(tokens) + self.state_bytes

    @property
    def windows(self) -> tuple[int, ...]:
        """Where the growth changes."""
        return tuple(window for window, _ in self.elements if window)


def profile(ledger: Ledger, dtype: str = "bf16") -> KvProfile:
    """The cache of a model, all layers."""
    by_window: dict[int | None, int] = {}
    state = 0
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, Cache):
                known = by_window.get(operation.window, 0)
                by_window[operation.window] = known + operation.elements * section.times
                if formula.is_recording():
                    _record(operation, section, KV_BITS[dtype])
            elif isinstance(operation, State):
                state += operation.elements * section.times
    ordered = sorted(by_window.items(), key=lambda item: item[0] or 1 << 62)
    return KvProfile(elements=tuple(ordered), bits=KV_BITS[dtype], state=state)


def _record(cache: Cache, section: Section, bits: int) -> None:
    text = f"layers · ({cache.text}) · bytes".replace("·", " · ").replace("  ", " ")
    values: dict[str, int | float] = {
        symbol: value for symbol, value in cache.dims.items() if symbol in cache.text
    }
    values |= {"layers": section.times, "bytes": bits // 8 if bits % 8 == 0 else bits / 8}
    eighths = cache.elements * section.times * bits
    window = f"at most {cache.window:,} tokens a layer" if cache.window else ""
    formula.record(
        formula.Step(
            name=f"{section.name}.{cache.name}_per_token", text=text, values=values,
            result=eighths // 8 if eighths % 8 == 0 else eighths / 8, unit="bytes", note=window,
            source="one entry a token, layer and cached head",
        )
    )  # fmt: skip


def explain(found: KvProfile, batch: int, tokens: int) -> None:
    """Record how the cache of a batch follows from what a token adds, window by window."""
    if not formula.is_recording() or not found.elements:
        return
    whole = found.bits % 8 == 0
    values: dict[str, int | float] = {"b": batch, "s": tokens}
    terms = []
    for number, (window, elements) in enumerate(found.elements, start=1):
        values[f"c_{number}"] = elements * found.bits // 8 if whole else elements
        if window:
            values[f"w_{number}"] = window
        terms.append(f"min(s, w_{number}) · c_{number}" if window else f"s · c_{number}")
    text = f"b · ({' + '.join(terms)})"
    if not whole:
        values["bits"] = found.bits
        text = f"b · ceil(({' + '.join(terms)}) · bits / 8)"
    formula.record(
        formula.Step(
            name="kv_cache", text=text, values=values, result=batch * found.sequence(tokens),
            unit="bytes", source="layers with one window together; a full window grows no more",
        )
    )  # fmt: skip

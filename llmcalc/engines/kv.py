"""How much does the cache hold? Exact elements of keys, values and latents, by layer and window."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc import formula
from llmcalc.blueprint.operations import Cache, Ledger, Section, State
from llmcalc.engines.kv_format import BF16, KvFormats

STATE_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Cached elements of a token, summed over the layers with one window."""

    window: int | None
    """Tokens kept at most; None: all."""
    keys: int
    values: int

    def kept(self, tokens: int) -> int:
        """How many of so many tokens are in the cache."""
        return min(tokens, self.window or tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class KvProfile:
    """What one sequence leaves behind, token by token and however long it is."""

    layers: tuple[Layers, ...]
    """The smallest window first, None last."""
    formats: KvFormats = BF16
    state: int = 0
    """Elements of one sequence that do not grow: states of recurrences, inputs of convolutions."""

    @property
    def state_bytes(self) -> int:
        """Bytes of the state of one sequence, in 16 bits whatever the cache is stored in."""
        return self.state * STATE_BYTES

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window."""
        return self.sequence(1)

    @property
    def bytes_per_token_beyond_windows(self) -> int:
        """Bytes that a token adds once every window is full."""
        growing = [layers for layers in self.layers if layers.window is None]
        return self.formats.bytes(
            sum(layers.keys for layers in growing), sum(layers.values for layers in growing)
        )

    def sequence(self, tokens: int) -> int:
        """Bytes of one sequence of `tokens`."""
        keys = values = 0
        for layers in self.layers:
            kept = layers.kept(tokens)
            keys += kept * layers.keys
            values += kept * layers.values
        return self.formats.bytes(keys, values)

    def held(self, tokens: int) -> int:
        """Bytes of all that one sequence of `tokens` leaves behind, its state included."""
        return self.sequence(tokens) + self.state_bytes

    @property
    def windows(self) -> tuple[int, ...]:
        """Where the growth changes."""
        return tuple(layers.window for layers in self.layers if layers.window)


def profile(ledger: Ledger, formats: KvFormats = BF16) -> KvProfile:
    """The cache of a model, all layers."""
    by_window: dict[int | None, tuple[int, int]] = {}
    state = 0
    for section in ledger.sections:
        times = section.times
        for operation in section.operations:
            if isinstance(operation, Cache):
                keys, values = by_window.get(operation.window, (0, 0))
                keys += operation.keys * times
                values += (operation.elements - operation.keys) * times
                by_window[operation.window] = (keys, values)
                if formula.is_recording():
                    _record(operation, section, formats)
            elif isinstance(operation, State):
                state += operation.elements * times
    ordered = sorted(by_window.items(), key=lambda item: item[0] or 1 << 62)
    layers = tuple(
        Layers(window=window, keys=keys, values=values) for window, (keys, values) in ordered
    )
    return KvProfile(layers=layers, formats=formats, state=state)


def _record(cache: Cache, section: Section, formats: KvFormats) -> None:
    values: dict[str, int | float] = {
        symbol: value for symbol, value in cache.dims.items() if symbol in cache.text
    }
    values["layers"] = section.times
    keys, others = cache.keys * section.times, (cache.elements - cache.keys) * section.times
    size = formats.bytes(keys, others)
    window = f"at most {cache.window:,} tokens a layer" if cache.window else ""
    if formats.keys == formats.values and (keys + others) % formats.keys.block == 0:
        bits = formats.keys.bits
        values["bytes"] = int(bits / 8) if bits % 8 == 0 else bits / 8
        text = f"layers · ({cache.text}) · bytes".replace("·", " · ").replace("  ", " ")
    else:
        values = {"keys": keys, "values": others}
        values |= {"key_bytes": formats.keys.bits / 8, "value_bytes": formats.values.bits / 8}
        text = "ceil(keys · key_bytes + values · value_bytes)"
    formula.record(
        formula.Step(
            name=f"{section.name}.{cache.name}_per_token", text=text, values=values,
            result=size, unit="bytes", note=window,
            source="one entry a token, layer and cached head",
        )
    )  # fmt: skip


def explain(found: KvProfile, batch: int, tokens: int) -> None:
    """Record how the cache of a batch follows from what a token adds, window by window."""
    if not formula.is_recording() or not found.layers:
        return
    values: dict[str, int | float] = {"b": batch, "s": tokens}
    terms = []
    for number, layers in enumerate(found.layers, start=1):
        bytes_per_token = (
            layers.keys * found.formats.keys.bits + layers.values * found.formats.values.bits
        ) / 8
        whole = bytes_per_token == int(bytes_per_token)
        values[f"c_{number}"] = int(bytes_per_token) if whole else bytes_per_token
        if layers.window:
            values[f"w_{number}"] = layers.window
        terms.append(f"min(s, w_{number}) · c_{number}" if layers.window else f"s · c_{number}")
    text = " + ".join(terms)
    whole = all(isinstance(value, int) for value in values.values())
    formula.record(
        formula.Step(
            name="kv_cache", text=f"b · ({text})" if whole else f"b · ceil({text})", values=values,
            result=batch * found.sequence(tokens), unit="bytes",
            source="layers with one window together; a full window grows no more",
        )
    )  # fmt: skip

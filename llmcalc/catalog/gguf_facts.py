"""Typed access to the metadata of a .gguf file, and a memory of what was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmcalc.catalog.wording import word
from llmcalc.errors import InvalidFileError

_HINT = "compare with another file of the same model, or give its config.json"
_OF_THE_FILE = ("general.", "tokenizer.", "quantize.", "split.", "imatrix.")
"""Keys that say nothing of the architecture."""
NEUTRAL = frozenset({
    "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "attention.scale",
    "attn_logit_softcapping", "final_logit_softcapping", "tensor_data_layout", "vocab_size",
    "expert_weights_scale", "expert_weights_norm",
    "rope.freq_base", "rope.freq_base_swa", "rope.scaling.type", "rope.scaling.factor",
    "rope.scaling.alpha", "rope.scaling.attn_factor", "rope.scaling.original_context_length",
    "rope.scaling.finetuned", "rope.scaling.low_freq_factor", "rope.scaling.high_freq_factor",
    "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow",
})  # fmt: skip
"""Keys of an architecture that change values and no size."""
_MOST = 2**27
_SHOWN = 5


class Facts:
    """The metadata of one model; `refuse_leftovers` names the keys that nobody read."""

    def __init__(self, metadata: Mapping[str, Any], origin: str) -> None:
        self._metadata, self.origin = metadata, origin
        self._read: set[str] = set()
        self.arch: str = metadata.get("general.architecture", "")
        if not isinstance(self.arch, str) or not self.arch:
            raise self.bad("general.architecture is missing or no name")
        kind = metadata.get("general.type", "model")
        if kind != "model":
            raise self.bad(f"this file is {kind!r:.40} and no model", "give the model's own file")
        parts = metadata.get("split.count", 0)
        if parts not in (0, 1):
            hint = "join the parts with llama-gguf-split --merge, or give the model's config.json"
            raise self.bad(f"this file is one of {parts!r:.20} parts", hint)

    def bad(self, message: str, hint: str = _HINT) -> InvalidFileError:
        """The error to raise."""
        return InvalidFileError(f"{self.origin}: {message}", hint=hint)

    def _value(self, key: str) -> Any:
        """What the file says of its architecture; a list of equal values, one a layer, is one."""
        self._read.add(key)
        value = self._metadata.get(f"{self.arch}.{key}")
        if isinstance(value, list) and value and all(one == value[0] for one in value):
            return value[0]
        return value

    def count(self, key: str, otherwise: int | None = None, *, least: int = 0) -> int:
        """A whole number, or `otherwise` where the file does not say."""
        value = self._value(key)
        value = otherwise if value is None else value
        if value is None:
            raise self.bad(f"{self.arch}.{key} is missing")
        if type(value) is not int or not least <= value <= _MOST:
            wanted = f"a whole number from {least} to {_MOST}"
            raise self.bad(f"{self.arch}.{key} must be {wanted}, not {value!r:.40}")
        return value

    def size(self, key: str, otherwise: int | None = None, *, most: int = _MOST) -> int:
        """A width, or a number of layers or heads."""
        value = self.count(key, otherwise, least=1)
        if value > most:
            raise self.bad(f"{self.arch}.{key} is {value}, at most {most} are possible")
        return value

    def pattern(self, key: str, period: int, layers: int) -> list[bool]:
        """Whether each layer slides: as listed, or all but the last of every `period`."""
        self._read.add(key)
        value = self._metadata.get(f"{self.arch}.{key}")
        if isinstance(value, list):
            if len(value) != layers or not all(type(one) is bool for one in value):
                raise self.bad(f"{self.arch}.{key} must be true or false for {layers} layers")
            return value
        period = self.size(key, period)
        return [period == 1 or (layer + 1) % period != 0 for layer in range(layers)]

    def refuse_leftovers(self) -> None:
        """Refuse keys that may change the architecture and that nobody read, 0 and false apart."""
        for key, only in (("attention.causal", True), ("pooling_type", 0)):
            if self._value(key) not in (None, only):
                raise self.bad(f"{self.arch}.{key} is not understood", "write a card by hand")
        own = f"{self.arch}."
        known = {own + key for key in self._read | NEUTRAL}
        rest = [
            key for key, value in self._metadata.items()
            if key not in known and not key.startswith(_OF_THE_FILE) and value not in (0, False)
        ]  # fmt: skip
        if rest:
            shown = ", ".join(map(word, rest[:_SHOWN])) + (", …" if rest[_SHOWN:] else "")
            hint = "it may change the architecture: write a card by hand, or give config.json"
            raise self.bad(f"{shown} is no key that {self.arch} is known to have", hint)

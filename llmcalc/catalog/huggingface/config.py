"""Typed access to a config.json: the class defaults beneath it, and a memory of what was read."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from llmcalc.catalog.huggingface.keys import neutral, same
from llmcalc.errors import InvalidFileError
from llmcalc.spec.pattern import LONGEST as MOST_LAYERS

LARGEST = 2**27
_HINT = "compare with the config.json that the model's authors publish"


@cache
def class_defaults() -> dict[str, Any]:
    """What tools/hf_defaults.py read from the classes: source, version, facts by model_type."""
    package = resources.files("llmcalc.catalog.huggingface")
    data: dict[str, Any] = json.loads((package / "defaults.json").read_text(encoding="utf-8"))
    return data


class Config:
    """One config. Reading a key marks it as understood; `leftovers` are those nobody read."""

    def __init__(self, data: dict[str, Any], origin: str) -> None:
        facts = class_defaults()["types"].get(data.get("model_type"), {})
        self.origin = origin
        self.defaults: dict[str, Any] = facts.get("defaults", {})
        self._aliases: dict[str, str] = facts.get("aliases", {})
        self._parts: dict[str, dict[str, Any]] = facts.get("parts", {})
        self._sections: dict[str, Config] = {}
        self._written: dict[str, str] = {}
        self._data: dict[str, Any] = {}
        self._read: set[str] = set()
        for key, value in data.items():
            self._take(key, value)

    def _take(self, key: str, value: Any) -> None:
        """Keep a key under the name that its class stores it by."""
        name = self._aliases.get(key, key)
        if name in self._data and not same(self._data[name], value):
            message = f"{self._written[name]} and {key} mean the same and differ"
            raise self.bad(message, "remove one of them")
        self._data[name], self._written[name] = value, key

    def bad(self, message: str, hint: str = _HINT) -> InvalidFileError:
        """The error to raise."""
        return InvalidFileError(f"{self.origin}: {message}", hint=hint)

    def says(self, key: str) -> bool:
        """Whether the file itself holds the key, and not as null."""
        return self._data.get(self._aliases.get(key, key)) is not None

    def value(self, key: str) -> Any:
        """What the file says, null included, else the class default, else None."""
        name = self._aliases.get(key, key)
        self._read.add(name)
        return self._data[name] if name in self._data else self.defaults.get(name)

    def wrong(self, key: str, wanted: str) -> InvalidFileError:
        """The error for a key whose value is of no use."""
        value = self.value(key)
        spelled = self._written.get(self._aliases.get(key, key), key)
        if value is None:
            return self.bad(f"{spelled} is missing", f"add {spelled}, {wanted}")
        return self.bad(f"{spelled} must be {wanted}, not {json.dumps(value):.60}")

    def count(self, key: str, *, least: int = 0) -> int:
        """A whole number of at least `least`."""
        value = self.value(key)
        if type(value) is not int or not least <= value <= LARGEST:
            raise self.wrong(key, f"a whole number from {least} to {LARGEST}")
        return value

    def size(self, key: str) -> int:
        """A width, or a number of heads or experts."""
        return self.count(key, least=1)

    def maybe_size(self, key: str) -> int | None:
        """A size, or None where neither the file nor the class has one."""
        return None if self.value(key) is None else self.size(key)

    def length(self, key: str) -> int | None:
        """A number of tokens, or None."""
        value = self.value(key)
        if value is not None and (type(value) is not int or not 1 <= value <= 2**40):
            raise self.wrong(key, "a whole number of tokens")
        return value

    def layer_count(self, key: str = "num_hidden_layers") -> int:
        """The number of layers, few enough to list them."""
        value = self.size(key)
        if value > MOST_LAYERS:
            raise self.wrong(key, f"at most {MOST_LAYERS}")
        return value

    def flag(self, key: str) -> bool:
        """True or false; null and absence are false, as in the classes."""
        value = self.value(key)
        if value is not None and type(value) is not bool:
            raise self.wrong(key, "true or false")
        return bool(value)

    def word(self, key: str) -> str | None:
        """A text, or None."""
        value = self.value(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def numbers(self, key: str) -> list[int] | None:
        """A list of whole numbers, or None."""
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(type(one) is int for one in value):
            raise self.wrong(key, "a list of whole numbers")
        return value

    def fixed(self, key: str, only: Any) -> None:
        """Accept a key that must hold `only`, since the class knows nothing else."""
        value = self.value(key)
        if value is not None and not same(value, only):
            shown = json.dumps(value)
            message = f"{key} {shown:.60} changes the architecture in a way that is not understood"
            raise self.bad(message, f"only {key} {json.dumps(only)} is; write a card by hand")

    def agrees(self, key: str, expected: int) -> None:
        """Accept a key that repeats another one, also as a list of one value a layer."""
        value = self.value(key)
        values = value if isinstance(value, list) and value else [value]
        if value is not None and not all(same(one, expected) for one in values):
            raise self.wrong(key, f"{expected}, as the rest of the file says")

    @property
    def has_parts(self) -> bool:
        """Whether the class is a composite of a language model and others."""
        return bool(self._parts)

    def written(self) -> tuple[str, ...]:
        """The keys that the file itself holds."""
        return tuple(self._data)

    def section(self, key: str) -> Config:
        """The config of one part of a composite, with the defaults of the class of that part."""
        if key not in self._sections:
            part, value = self._parts[key], self.value(key)
            data = part["given"] if value is None else value
            if not isinstance(data, dict):
                raise self.wrong(key, "a mapping of keys to values")
            told = part["type"] if part["fixed"] else data.get("model_type", part["type"])
            self.use_section(key, data | {"model_type": told}).value("architectures")
        return self._sections[key]

    def use_section(self, key: str, data: dict[str, Any]) -> Config:
        """Take `data` for the part `key`, so that what nobody reads of it is refused."""
        self._sections[key] = Config(data, f"{self.origin}: {key}")
        return self._sections[key]

    def leftovers(self) -> list[str]:
        """Keys not read that may change the architecture and differ from their class default."""
        inside = [
            f"{key}.{name}" for key, part in self._sections.items() for name in part.leftovers()
        ]
        return self._own_leftovers() + inside

    def _own_leftovers(self) -> list[str]:
        unused = {"sliding_window"} if self._data.get("use_sliding_window") is False else set()
        return [
            self._written[name]
            for name, value in self._data.items()
            if name not in self._read | unused
            and not neutral(name, value)
            and not self._is_default(name)
        ]

    def _is_default(self, name: str) -> bool:
        return name in self.defaults and same(self._data[name], self.defaults[name])

"""Which class a config names, for model types whose classes count differently."""

from __future__ import annotations

from typing import Any

from llmcalc.catalog.huggingface.config import Config


def named_class(c: Config) -> str:
    """The first class in `architectures`, empty where the file names none."""
    given = c.value("architectures")
    names = given if isinstance(given, list) else [given]
    if given is not None and not all(isinstance(one, str) for one in names):
        raise c.wrong("architectures", "a list of class names")
    return next(filter(None, names), "")


def head_of(c: Config, prefix: str, known: tuple[str, ...], otherwise: str = "") -> str:
    """What follows `prefix` in the named class, one of `known`; `otherwise` where none is named.

    Raises InvalidFileError for any other class, and for no class where the count depends on it.
    """
    name = named_class(c)
    head = name.removeprefix(prefix) if name else otherwise
    if head in known:
        return head
    classes = ", ".join(prefix + one for one in known)
    if not name:
        what = "architectures is missing, and the count depends on the class"
        raise c.bad(what, f'say which as "architectures": [one of {classes}]')
    raise c.bad(f"the class {name:.60} is not understood", f"understood here are {classes}")


def label_count(c: Config) -> int:
    """Labels of a class for classification: as many as id2label names, else num_labels, else 2."""
    names, number = c.value("id2label"), c.maybe_size("num_labels")
    if names is None:
        return number or 2
    if not isinstance(names, dict) or not names:
        raise c.wrong("id2label", "a mapping of numbers to labels")
    if number is not None and number != len(names):
        raise c.bad(f"num_labels {number} and {len(names)} labels in id2label differ")
    return len(names)


def ignored(c: Config, *keys: str) -> None:
    """Mark keys as read whose value the class does not build anything from."""
    for key in keys:
        c.value(key)


def tensor(name: str, *shape: int) -> dict[str, Any]:
    """One entry of `extra`."""
    return {"name": name, "shape": list(shape)}


def linear(name: str, rows: int, columns: int, *, bias: bool = True) -> list[dict[str, Any]]:
    """The tensors of a linear layer that no part of a card is."""
    weight = tensor(f"{name}.weight", rows, columns)
    return [weight, tensor(f"{name}.bias", rows)] if bias else [weight]


def layer_norm(name: str, width: int, *, bias: bool = True) -> list[dict[str, Any]]:
    """The tensors of a LayerNorm that no block or end of a card has."""
    weight = tensor(f"{name}.weight", width)
    return [weight, tensor(f"{name}.bias", width)] if bias else [weight]

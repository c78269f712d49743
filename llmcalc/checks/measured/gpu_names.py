"""From the names that logs write to GPUs of the catalog, and how many of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from llmcalc.checks.measured.catalog import gpus
from llmcalc.spec.gpu import GpuSpec

_REMARK = re.compile(r"[(\[][^)\]]*[)\]]")
_SIZE = re.compile(r"(?<![\d.])(\d+)\s*(?:gb|gib)(?![a-z])")
_COUNT = re.compile(r"(?:^(\d)\s*[x×]\s*|[_ ][x×]?(\d{1,2})$|\s*[x×]\s*(\d{1,2})$)")
_MAKERS = re.compile(
    r"\b(?:nvidia|geforce|tesla|quadro|amd|instinct|intel|huawei|google|class|cuda|hbm3e?|hbm2e?|"
    r"grace hopper superchip|nps1|spx|\d+w|generation|edition|gpus?|graphics|in this page|"
    r"multi node|mac (?:studio|mini|pro)|macbook (?:pro|air)|imac)\b"
)
_CORES = re.compile(
    r"(\d{1,2})[ -]?c(?:ores?)?[ -]gpu|gpu[ :-]+(\d{1,2})[ -]?c|(?:\b|-)(\d{1,2})c\b"
)
"""GPU cores of a bin of one of Apple's chips: `(7c GPU)`, `30-core GPU`, `-32c`."""
_LAPTOP = re.compile(r"[ (\[-]*\b(?:mobile|laptop)\b(?:[^)\]]*[)\]])?")
"""A laptop's chip, in brackets too: it is another one than the card of its name."""
_INSIDE = re.compile(r"[(\[]([^)\]]*)[)\]]")
_NEAR = 0.12
"""Share by which a written size may differ from the box: 80 for 79.1, 96 for 95.6."""


def gpu(text: str | None) -> GpuSpec | None:
    """The GPU that a text means, or None. A size that contradicts it makes it another one."""
    return _gpu(text) if text else None


def board(text: str | None) -> GpuSpec | None:
    """The GPU that a text means, whatever memory was soldered on: it reads as fast."""
    return gpu(text) or (_gpu(_SIZE.sub(" ", text.lower())) if text else None)


@cache
def _gpu(text: str) -> GpuSpec | None:
    written = _LAPTOP.sub(" laptop", text.lower())
    words = re.sub(r"[_-]", " ", _REMARK.sub(" ", written))
    size = _SIZE.search(words)
    cores = _CORES.search(written)
    bin_of = next((group for group in cores.groups() if group), "") if cores else ""
    for plain in dict.fromkeys((words, _MAKERS.sub(" ", words))):
        for name in _names(plain, size[0] if size else ""):
            found = _index().get(_joined(name))
            if found and (size is None or _of_size(found, int(size[1]))):
                return gpus().get(f"{found.name}-{bin_of}c", found)
    inside = (_gpu(remark) for remark in _INSIDE.findall(text))
    return _either(text) or next((found for found in inside if found), None)


def _either(text: str) -> GpuSpec | None:
    """Of `H100/H800`, the first, if both have the same memory and matrix rates."""
    found = [_gpu(part) for part in _REMARK.sub("", text).split("/")] if "/" in text else []
    first, *others = found or [None]
    if first is None or any(one is None or _pace(one) != _pace(first) for one in others):
        return None
    return first


def _pace(spec: GpuSpec) -> tuple[float | None, ...]:
    return spec.memory.marketed_gb, spec.memory.bandwidth_gb_s, spec.compute.bf16


def _names(plain: str, size: str) -> Iterator[str]:
    """The text as it stands, then without a count, its size last or left out, and as a GeForce."""
    bare = plain.strip()
    single = _COUNT.sub("", bare)
    for name in dict.fromkeys((bare, single)):
        yield name
        without = name.replace(size, " ").strip() if size else name
        without = _COUNT.sub("", without) if name is single else without
        if size:
            yield f"{without} {size}"
        yield without
        yield f"apple {without}"
        yield f"rtx {without}"


def _joined(name: str) -> str:
    return re.sub(r"[^a-z0-9.+]", "", name.lower())


def _of_size(spec: GpuSpec, size: int) -> bool:
    """Whether the box says so; Apple's and other shared memories come in many sizes."""
    marketed = spec.memory.marketed_gb
    return spec.memory.unified or marketed is None or abs(marketed - size) <= _NEAR * size


@cache
def _index() -> dict[str, GpuSpec]:
    """GPUs by spelling; a GPU's own name goes before an alias of another."""
    also = {_joined(name): spec for spec in gpus().values() for name in spec.aliases}
    titles = {_joined(_REMARK.sub("", spec.title)): spec for spec in gpus().values()}
    return titles | also | {_joined(name): spec for name, spec in gpus().items()}

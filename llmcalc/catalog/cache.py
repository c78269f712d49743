"""Validated cards and specs kept between runs, so that most runs need no parser and no validator.

An entry's key is the whole content of its file: an edited file is a new key, nothing can collide,
and no hash library has to be loaded. Whatever is wrong with the cache only costs time.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import zlib
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import llmcalc

T = TypeVar("T")
Names = tuple[str, ...]
_MOST_ENTRIES = 2000
_Entry = tuple[Names, bytes]
"""Names and aliases, and the pickled value, which is only opened when somebody wants it."""


class _SpecOnly(pickle.Unpickler):
    """An unpickler that makes dataclasses of the spec and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        return _admitted(module, name)


@lru_cache
def _admitted(module: str, name: str) -> Any:
    if (module, name) == (__name__, _made.__name__):
        return _made
    if module.startswith("llmcalc.spec."):
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type) and hasattr(found, "__dataclass_fields__"):
            return found
    raise pickle.UnpicklingError(f"{module}.{name} has no place in the cache")


class _ByPosition(pickle.Pickler):
    """Dataclasses as their values in order: opened in half the time of the way of dataclasses."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) or not hasattr(obj, "__dataclass_fields__"):
            return NotImplemented
        return _made, (type(obj), *(getattr(obj, name) for name in obj.__dataclass_fields__))


def _made(kind: Any, *values: Any) -> Any:
    made = object.__new__(kind)
    for name, value in zip(kind.__dataclass_fields__, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _pickled(value: Any) -> bytes:
    file = io.BytesIO()
    _ByPosition(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


class Cache(Generic[T]):
    """The entries of one kind of file."""

    def __init__(self, kind: type[T], path: str | None) -> None:
        self.kind, self.path = kind, path
        self._entries: dict[bytes, _Entry] = _entries(path) if path else {}
        self._used: set[bytes] = set()
        self._changed = False

    def value(self, raw: bytes, origin: str) -> T:
        """The card or spec that a file's bytes hold. Raises InvalidFileError."""
        _, pickled = self._entry(raw, origin)
        try:
            value = _SpecOnly(io.BytesIO(pickled)).load()
        except Exception:  # noqa: BLE001  (a foreign entry may fail in any way, and only costs time)
            value = None
        if isinstance(value, self.kind):
            return value
        self._entries.pop(raw)
        fresh: T = pickle.loads(self._entry(raw, origin)[1])  # noqa: S301  (made by this process)
        return fresh

    def names(self, raw: bytes, origin: str) -> Names:
        """Name and aliases of the card or spec in a file's bytes. Raises InvalidFileError."""
        return self._entry(raw, origin)[0]

    def listed(self) -> tuple[Names, ...]:
        """Name and aliases of every entry, of files that may have changed or gone since."""
        return tuple(names for names, _ in self._entries.values())

    def save(self) -> None:
        """Write what is new; a full or read-only disk is no error."""
        if not self._changed or not self.path:
            return
        self._changed = False
        if len(self._entries) > _MOST_ENTRIES:
            self._entries = {raw: self._entries[raw] for raw in self._used if raw in self._entries}
        body = pickle.dumps((_fingerprint(), self._entries), pickle.HIGHEST_PROTOCOL)
        _replace(self.path, zlib.crc32(body).to_bytes(4, "big") + body)

    def _entry(self, raw: bytes, origin: str) -> _Entry:
        self._used.add(raw)
        if raw not in self._entries:
            self._entries[raw] = _fresh(self.kind, raw, origin)
            self._changed = True
        return self._entries[raw]


def cache(kind: type[T], file: str) -> Cache[T]:
    """The cache of `kind` in the user's cache folder, read once a process."""
    folder = _folder()
    opened: Cache[T] = _opened(cast("Any", kind), os.path.join(folder, file) if folder else None)
    return opened


@lru_cache
def _opened(kind: Any, path: str | None) -> Cache[Any]:
    return Cache(kind, path)


def _fresh(kind: type[Any], raw: bytes, origin: str) -> _Entry:
    """The entry of a file that no run has seen before."""
    from llmcalc.catalog.validate import validate  # noqa: PLC0415  (pydantic: 170 ms)
    from llmcalc.catalog.yamlfile import decoded, read  # noqa: PLC0415

    value = validate(kind, read(decoded(raw, origin), origin))
    return (value.name, *value.aliases), _pickled(value)


def _entries(path: str) -> dict[bytes, _Entry]:
    """The entries of an earlier run of this very code, else none."""
    try:
        with open(path, "rb") as file:
            checksum, body = file.read(4), file.read()
        if zlib.crc32(body).to_bytes(4, "big") != checksum:
            return {}
        fingerprint, entries = _SpecOnly(io.BytesIO(body)).load()
        fits = fingerprint == _fingerprint() and _are_entries(entries)
    except Exception:  # noqa: BLE001  (missing, unreadable, foreign: all the same, it costs time)
        return {}
    return entries if fits else {}


def _are_entries(entries: Any) -> bool:
    return isinstance(entries, dict) and all(
        isinstance(raw, bytes)
        and isinstance(entry, tuple)
        and len(entry) == 2  # noqa: PLR2004  (names and value)
        and isinstance(entry[0], tuple)
        and all(isinstance(name, str) for name in entry[0])
        and isinstance(entry[1], bytes)
        for raw, entry in entries.items()
    )


@lru_cache
def _fingerprint() -> tuple[str, ...]:
    """What validated the entries: the version and the state of the source of spec and catalog."""
    package = os.path.dirname(llmcalc.__file__)
    state = [llmcalc.__version__, f"{sys.version_info[0]}.{sys.version_info[1]}", package]
    for floor in ("spec", "catalog"):
        with os.scandir(os.path.join(package, floor)) as files:
            for file in sorted(files, key=lambda file: file.name):
                if file.name.endswith(".py"):
                    stat = file.stat()
                    state.append(f"{file.name} {stat.st_size} {stat.st_mtime_ns}")
    return tuple(state)


def _folder() -> str | None:
    """The cache folder, or None where the machine has no place for one."""
    if chosen := os.environ.get("LLMCALC_CACHE"):
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "linux":  # as platformdirs has it, without the 14 ms of importing it
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
        return os.path.join(base, "llmcalc") if os.path.isabs(base) else None
    from platformdirs import user_cache_dir  # noqa: PLC0415

    return user_cache_dir("llmcalc", appauthor=False)


def _replace(path: str, content: bytes) -> None:
    """Put a file in place at once, so that a reader sees the old or the new one."""
    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        _remove(draft)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return

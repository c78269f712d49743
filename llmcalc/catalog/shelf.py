"""The folders of one kind of file: the shipped one and the user's, searched by name or alias."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import llmcalc
from llmcalc.catalog.cache import Cache, cache
from llmcalc.catalog.files import content
from llmcalc.errors import InvalidFileError, UsageError
from llmcalc.spec.named import Named

T = TypeVar("T", bound=Named)
OnProblem = Callable[[InvalidFileError], None]


def ignore(_: InvalidFileError) -> None:
    """Pass over a broken file, for callers that do not need all of them."""


def canonical(name: str) -> str:
    """The spelling under which names are compared: `Llama2_7B` is `llama2-7b`."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf(Generic[T]):
    """Where files of one kind stand."""

    kind: type[T]
    word: str
    """What messages call one of them."""
    folder: str
    """Name of the shipped folder."""
    variable: str = ""
    """Environment variable that names the user's folders; empty: nobody adds to this shelf."""

    @property
    def cache(self) -> Cache[T]:
        """What earlier runs have validated."""
        return cache(self.kind, f"{self.folder}-{llmcalc.__version__}.pickle")

    def folders(self) -> tuple[str, ...]:
        """The shipped folder, then the user's; a later one wins."""
        named: list[str] = os.environ.get(self.variable, "").split(os.pathsep)
        return (self._shipped(), *(os.path.expanduser(one) for one in named if one.strip()))

    def find(self, name: str) -> T | None:
        """The file of that name or alias, or None. Raises InvalidFileError if it is broken."""
        wanted = canonical(name)
        shipped, *own = self.folders()
        try:
            for folder in reversed(own):
                if found := self._scan(folder, wanted):
                    return found
            return (
                self._by_file_name(shipped, wanted)
                or self._by_known_alias(shipped, wanted)
                or self._scan(shipped, wanted)
            )
        finally:
            self.cache.save()

    def named(self, name: str) -> T:
        """The file of that name or alias. Raises UsageError where there is none."""
        found = self.find(name)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> UsageError:
        """The error for a name that no file has."""
        from llmcalc.catalog.suggest import nearest  # noqa: PLC0415  (only on the way to an error)

        known = self.names()
        best = nearest(name.lower()[:100], known)
        hint = f"did you mean {best}?" if best else f"have: {', '.join(known)}"
        return UsageError(f"no {self.word} named {name[:100]!r}", hint=hint)

    def all(self, on_problem: OnProblem = ignore) -> tuple[T, ...]:
        """One of each name, by name; `on_problem` hears of every file that cannot be used."""
        found: dict[str, T] = {}
        kept = self.cache
        for folder in self.folders():
            for path in _paths(folder, on_problem):
                try:
                    value = kept.value(content(path), path)
                except InvalidFileError as error:
                    on_problem(error)
                else:
                    found[canonical(value.name)] = value
        kept.save()
        return tuple(found[name] for name in sorted(found))

    def paths(self, on_problem: OnProblem = ignore) -> tuple[str, ...]:
        """Every file of every folder."""
        return tuple(path for folder in self.folders() for path in _paths(folder, on_problem))

    def path(self, name: str) -> str | None:
        """The file of that name or alias, or None."""
        wanted = canonical(name)
        found = None
        for folder in self.folders():
            for (own, *aliases), path in self._listed(folder, ignore):
                known = any(canonical(one) == wanted for one in aliases)
                if canonical(own) == wanted or (known and found is None):
                    found = path
        self.cache.save()
        return found

    def names(self) -> tuple[str, ...]:
        """Every name and alias, for completion and for did-you-mean."""
        found = {
            name: None
            for folder in self.folders()
            for names, _ in self._listed(folder, ignore)
            for name in names
        }
        self.cache.save()
        return tuple(sorted(found, key=canonical))

    def _listed(self, folder: str, on_problem: OnProblem) -> Iterator[tuple[tuple[str, ...], str]]:
        """Names and path of every usable file of a folder."""
        kept = self.cache
        for path in _paths(folder, on_problem):
            try:
                yield kept.names(content(path), path), path
            except InvalidFileError as error:
                on_problem(error)

    def _by_file_name(self, folder: str, wanted: str) -> T | None:
        """The fast way: a shipped file is named for what it holds."""
        path = os.path.join(folder, f"{wanted}.yaml")
        if "/" in wanted or os.sep in wanted or "\0" in wanted or not os.path.isfile(path):
            return None
        value = self.cache.value(content(path), path)
        return value if canonical(value.name) == wanted else None

    def _by_known_alias(self, folder: str, wanted: str) -> T | None:
        """As fast for an alias: earlier runs have seen whose it is, and that file is read anew."""
        for name, *aliases in self.cache.listed():
            if any(canonical(one) == wanted for one in aliases):
                value = self._by_file_name(folder, canonical(name))
                if value and any(canonical(one) == wanted for one in value.aliases):
                    return value
        return None

    def _scan(self, folder: str, wanted: str) -> T | None:
        """The file of a folder with that name, else the one with that alias."""
        broken: list[InvalidFileError] = []
        alias: str | None = None
        for (name, *aliases), path in self._listed(folder, broken.append):
            if canonical(name) == wanted:
                return self.cache.value(content(path), path)
            if any(canonical(one) == wanted for one in aliases):
                alias = path
        if alias:
            return self.cache.value(content(alias), alias)
        for error in broken:
            if os.sep + f"{wanted}.yaml:" in error.message:
                raise error
        return None

    def _shipped(self) -> str:
        package = os.path.dirname(os.path.abspath(llmcalc.__file__))
        inside = os.path.join(package, self.folder)
        beside = os.path.join(os.path.dirname(package), self.folder)
        return inside if os.path.isdir(inside) else beside


def _paths(folder: str, on_problem: OnProblem) -> list[str]:
    """The YAML files of a folder, by name."""
    try:
        with os.scandir(folder) as entries:
            return sorted(e.path for e in entries if e.name.endswith((".yaml", ".yml")))
    except OSError as error:
        message = f"{folder}: the folder cannot be read ({error.strerror})"
        on_problem(InvalidFileError(message, hint="correct LLMCALC_CARDS or LLMCALC_GPUS"))
        return []

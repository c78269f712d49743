"""An algorithm of preference training: which models it needs, and when each computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from llmcalc.spec.limits import Alias, Bool, Line, Name, Range

RoleName = Literal["policy", "reference", "reward", "critic", "rollout"]
Stretch = Literal["rollout", "reward", "train", "sync"]
"""A part of one iteration: sequences are made, scored, and learned from; then the engine gets the
new weights."""

STRETCHES: tuple[Stretch, ...] = ("rollout", "reward", "train", "sync")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One model of a run."""

    name: RoleName
    trained: Bool = False
    computes: tuple[Stretch, ...]
    """When it runs; between it only stands there, if it is not sent away."""
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """The models of one iteration."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    together: Annotated[int, Range(1, 16)] = 1
    """Sequences of one sample that go through at once: the chosen and the rejected answer."""
    group: Annotated[int, Range(1, 4096)] = 1
    """Completions of each prompt."""
    group_source: Line | None = None
    roles: tuple[Role, ...]

    @property
    def models(self) -> tuple[Role, ...]:
        """All roles but the engine that makes sequences."""
        return tuple(role for role in self.roles if role.name != "rollout")

    @property
    def generates(self) -> bool:
        """Whether it learns from sequences that it makes."""
        return len(self.models) < len(self.roles)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The parts of its iteration, in order."""
        found = {stretch for role in self.roles for stretch in role.computes}
        if self.generates:
            found.add("sync")
        return tuple(one for one in STRETCHES if one in found)

"""`--emit`: the line that starts an engine with the settings that were computed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from llmcalc.blueprint.parallel import Parallel
from llmcalc.catalog.data import runtimes
from llmcalc.engines.budget import missing
from llmcalc.engines.largest import largest
from llmcalc.errors import UsageError
from llmcalc.planner.fit import Ask, Planner
from llmcalc.spec.card import ModelCard
from llmcalc.spec.runtime import Command, Runtime
from llmcalc.spec.settings import Settings

OPTIONS = "{options}"


def engine_of(name: str) -> str:
    """The runtime whose line `--emit` asks for. Raises UsageError where there is none."""
    known = [(command, one.name) for one in runtimes() for command in one.commands]
    own = [runtime for command, runtime in known if command == name]
    if not own:
        have = ", ".join(sorted({command for command, _ in known}))
        raise UsageError(f"--emit {name[:100]} is no engine", hint=f"have: {have}")
    return name if name in own else own[0]


def filled(runtime: Runtime, asked: Settings, *, batch: int, seq: int) -> Settings:
    """The settings with those that follow from what is to be served: `batch` on one replica."""
    follows = {"max_model_len": seq, "max_num_seqs": batch, "parallel": batch}
    fresh: dict[str, Any] = {
        name: value
        for name, value in follows.items()
        if name in runtime.settings and getattr(asked, name) is None
    }
    return replace(asked, **fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What an engine is to be started with."""

    card: ModelCard
    planner: Planner
    ask: Ask
    parallel: Parallel

    def line(self, emitted: str) -> str:
        """The command line. Raises UsageError for a runtime without that command."""
        runtime = self.ask.runtime
        if emitted not in runtime.commands:
            have = ", ".join(runtime.commands) or "none"
            raise UsageError(
                f"{runtime.name} is not started by {emitted}", hint=f"its commands: {have}"
            )
        command = runtime.commands[emitted]
        options = list(self._options(command))
        names = {
            "{model}": self._model(),
            "{file}": f"{self.card.name}-{self.ask.weights.name}.gguf",
        }
        words: list[str] = []
        for word in command.start:
            words += options if word == OPTIONS else [names.get(word, word)]
        if OPTIONS not in command.start:
            words += options
        return shlex.join(words)

    def _options(self, command: Command) -> Iterator[str]:
        said = self._said()
        if formats := command.weights.get(self.ask.weights.name):
            yield from formats.split()
        for name, flag in command.flags.items():
            yield from _words(command, name, flag, said.get(name))

    def _said(self) -> dict[str, object]:
        """What is to be said, by the names of flags; what is the engine's default is left out."""
        parallel, formats = self.parallel, self.ask.kv
        chosen = self.ask.settings
        split = {"tp": parallel.tp, "pp": parallel.pp, "dp": parallel.dp}
        said: dict[str, object] = {name: ranks for name, ranks in split.items() if ranks > 1}
        if parallel.ep > 1:
            said["ep"] = True
        said |= {"kv": formats.keys.name, "kv_values": formats.values.name}
        said |= {
            field.name: value
            for field in fields(chosen)
            if (value := getattr(chosen, field.name)) is not None
        }
        slots = chosen.parallel or 1
        return said | {"context": slots * (chosen.max_model_len or 1)}

    def _model(self) -> str:
        return next((alias for alias in self.card.aliases if "/" in alias), self.card.name)


def with_layers(planner: Planner, ask: Ask) -> Ask:
    """The question with the most layers, the output counted as one, that the devices hold."""
    asked = ask.settings
    if (
        "n_gpu_layers" not in ask.runtime.settings
        or not ask.capacity
        or asked.n_gpu_layers is not None
    ):
        return ask

    def short(layers: int) -> int:
        tried = replace(ask, settings=replace(asked, n_gpu_layers=layers))
        parallel, serving = planner.split(tried), planner.serving(tried)
        return max(
            missing(stage, serving, ask.capacity, ask.batch, ask.seq)
            for stage in planner.stages(tried, parallel)
        )

    layers = largest(short, 0, len(planner.ledger.order) + 1)
    return replace(ask, settings=replace(asked, n_gpu_layers=layers))


def _words(command: Command, name: str, flag: str, value: object) -> Iterator[str]:
    """A flag and its value; the flag may end in `=`, as a variable of the environment does."""
    if name in {"kv", "kv_values"}:
        value = command.kv.get(str(value))
    if name in command.switches and value is not None:
        value = command.switches[name][bool(value)]
    if value is None or value == "-":
        return
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    if flag.endswith("="):
        yield flag + shown
    else:
        yield from (flag,) if shown == "+" else (flag, shown)

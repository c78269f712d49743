"""An engine as it is started on one kind of GPU: every setting has a value, or is worked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.runtime import Choice, Runtime, Setting
from llmcalc.spec.settings import Settings

GIB, MIB = 2**30, 2**20
WHOLE_PROMPTS = 2**40
"""Tokens at once where an engine sets no limit."""

_SHARES = ("gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction")
_SWITCHES = ("flash_attn", "enforce_eager", "async_scheduling")
_MAY_BE_ZERO = ("n_gpu_layers", "cpu_offload_gb", *_SWITCHES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A runtime with its settings, defaults filled in where it has any."""

    runtime: Runtime
    settings: Settings
    on_device: bool = True
    """Whether a device with memory of its own is named; else all stands in one memory."""

    @property
    def key(self) -> tuple[str, Settings, bool]:
        """What tells two servings apart."""
        return self.runtime.name, self.settings, self.on_device

    @property
    def assumptions(self) -> dict[str, str | int]:
        """The settings in words, by the engine's flags."""
        return {
            self.runtime.settings[name].flag.lstrip("-"): f"{value:g}"
            for name, value in _given(self.settings)
        }

    @property
    def graphs(self) -> bool:
        """Whether it captures CUDA graphs."""
        return self.settings.enforce_eager is False

    @property
    def share(self) -> float:
        """The share that its budget is about."""
        chosen = self.settings
        shares = {
            "share": chosen.gpu_memory_utilization,
            "static": chosen.mem_fraction_static,
            "rest": chosen.free_gpu_memory_fraction,
        }
        share = shares[self.runtime.budget.form]
        return 1.0 if share is None else share

    @property
    def tokens_at_once(self) -> int:
        """The most tokens of prompts computed at once; whole prompts where nothing says less."""
        chosen = self.settings
        said = chosen.max_num_batched_tokens or chosen.ubatch_size
        if "max_num_batched_tokens" in self.runtime.settings:
            said = said or chosen.max_model_len
        return said or WHOLE_PROMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an engine starts, as far as its defaults depend on it."""

    memory: int = 0
    """Bytes of one device; 0: not known."""
    gpu: str = ""
    context: int | None = None
    """Tokens that the model was made for."""
    ranks: int = 1
    """GPUs that work on the model."""
    towers: bool = False
    """Whether the model sees or hears."""


def serve(runtime: Runtime, wanted: Settings, place: Place) -> Serving:
    """The runtime with `wanted`, and its defaults in that place for the rest.

    Raises UsageError for a setting that the runtime does not have, ImpossibleError for a value that
    it would refuse.
    """
    refuse_impossible(runtime, wanted)
    chosen: dict[str, Any] = dict(_given(wanted))
    if "max_model_len" in runtime.settings and place.context:
        chosen.setdefault("max_model_len", place.context)
    for name, setting in runtime.settings.items():
        if name not in chosen and (value := _default(name, setting, place, chosen)) is not None:
            chosen[name] = value
    if runtime.budget.form == "static" and place.memory:
        from llmcalc.engines.static_share import static_share  # noqa: PLC0415  for one engine only

        share = static_share(place.memory // MIB, tp=place.ranks)
        chosen.setdefault("mem_fraction_static", share)
    on_device = place.memory > 0 or wanted.n_gpu_layers is not None
    return Serving(runtime=runtime, settings=replace(Settings(), **chosen), on_device=on_device)


def refuse_impossible(runtime: Runtime, wanted: Settings) -> None:
    """Refuse what that engine would, wherever it starts. Raises as `serve`."""
    for name, value in _given(wanted):
        if name not in runtime.settings:
            known = ", ".join(setting.flag for setting in runtime.settings.values())
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{runtime.name} has no {option}", hint=f"its settings: {known}")
        _refuse_value(name, value)


def _given(wanted: Settings) -> Iterator[tuple[str, int | float]]:
    for field in fields(wanted):
        value = getattr(wanted, field.name)
        if value is not None:
            yield field.name, value


def _refuse_value(name: str, value: float) -> None:
    option = "--" + name.replace("_", "-")
    if name in _SHARES and not 0 < value <= 1:
        raise ImpossibleError(
            f"{option} {value:g} is not possible", hint="a share of the memory, above 0 and up to 1"
        )
    least = 0 if name in _MAY_BE_ZERO else 1
    if name not in _SHARES and value < least:
        raise ImpossibleError(f"{option} {value:g} is not possible", hint=f"it is at least {least}")


def _default(name: str, setting: Setting, place: Place, chosen: Mapping[str, Any]) -> float | None:
    for choice in setting.default:
        if _applies(choice, place, int(chosen.get("max_model_len", 0))):
            value = choice.value
            return value if name in _SHARES else bool(value) if name in _SWITCHES else int(value)
    return None


def _applies(choice: Choice, place: Place, context: int) -> bool:
    if choice.at_least_gib is not None and place.memory < choice.at_least_gib * GIB:
        return False
    if choice.text_only and place.towers:
        return False
    if choice.above_context is not None and context <= choice.above_context:
        return False
    return not any(place.gpu.startswith(name) for name in choice.not_on)

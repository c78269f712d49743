"""The engine that makes sequences while a policy is trained, and who else is there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from llmcalc import units
from llmcalc.cli.options import Kv
from llmcalc.errors import UsageError

if TYPE_CHECKING:
    from llmcalc.api.rlhf_engine import Engine
    from llmcalc.spec.algorithm import Algorithm

ENGINE = "Engine that makes sequences"


def _engine(*flags: str, metavar: str = "N", parser: Any = units.count, help: str) -> Any:
    return Option(*flags, metavar=metavar, parser=parser, help=help, rich_help_panel=ENGINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Runtime, formats, ranks and the share of the memory."""

    runtime: Annotated[
        str, Option("--runtime", metavar="NAME", help="As vllm or sglang.", rich_help_panel=ENGINE)
    ] = "vllm"
    rollout_weights: Annotated[
        str, Option(metavar="FORMAT", help="Of its copy of the policy.", rich_help_panel=ENGINE)
    ] = "bf16"
    kv: Kv = "bf16"
    rollout_gpus: Annotated[
        int | None, _engine(help="Of its own, beside --gpus; else it shares theirs.")
    ] = None
    rollout_tp: Annotated[int, _engine(help="Tensor parallel ranks of one engine.")] = 1
    rollout_batch: Annotated[
        int | None, _engine(help="Sequences made at once; all of an iteration if not said.")
    ] = None
    gpu_memory_utilization: Annotated[
        float | None,
        Option(metavar="SHARE", rich_help_panel=ENGINE,
               help="vLLM: of a GPU; what the others leave if not said."),
    ] = None  # fmt: skip
    sleep: Annotated[
        bool,
        Option("--sleep/--no-sleep", rich_help_panel=ENGINE,
               help="Its weights and cache leave while others compute."),
    ] = True  # fmt: skip

    def refuse_without(self, algorithm: Algorithm) -> None:
        """Raise UsageError where something is said of an engine that nobody needs."""
        said = [one.name for one in fields(self) if getattr(self, one.name) != one.default]
        if said and not algorithm.generates:
            option = "no-sleep" if said[0] == "sleep" else said[0].replace("_", "-")
            raise UsageError(f"{algorithm.name} makes no sequences", hint=f"leave --{option} out")

    def engine(self) -> Engine:
        """The names looked up. Raises UsageError for unknown ones."""
        from llmcalc.api.rlhf_engine import Engine  # noqa: PLC0415  (commands load when called)
        from llmcalc.api.setup import setup  # noqa: PLC0415
        from llmcalc.spec.settings import Settings  # noqa: PLC0415

        chosen = setup(
            weights=self.rollout_weights, kv=self.kv, engine=self.runtime,
            settings=Settings(gpu_memory_utilization=self.gpu_memory_utilization),
            tp=self.rollout_tp,
        )  # fmt: skip
        return Engine(
            setup=chosen, gpus=self.rollout_gpus or 0, sleeps=self.sleep,
            batch=self.rollout_batch,
        )  # fmt: skip

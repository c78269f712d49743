"""How `fit --train` trains: those options of `train` that decide what fits."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from llmcalc import units
from llmcalc.cli.options import Losses, Method, Offload, Recompute, Sharding

if TYPE_CHECKING:
    from llmcalc.api.plans import Asked

PANEL = "With --train"

Methods = Literal["full", "lora", "qlora", "dora", "all"]


def _of_training(*flags: str, metavar: str | None = None, help: str) -> Any:
    return Option(*flags, metavar=metavar, help=help, rich_help_panel=PANEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTraining:
    """Framework, precision, optimizer, adapters, and what is kept, dealt out and offloaded."""

    framework: Annotated[
        str | None, _of_training(metavar="NAME", help="As huggingface or torchtune; else generic.")
    ] = None
    precision: Annotated[
        str | None, _of_training(metavar="RECIPE", help="As bf16-mixed, pure-bf16 or fp8.")
    ] = None
    optimizer: Annotated[
        str | None, _of_training(metavar="NAME", help="As adamw-8bit or adafactor; else adamw.")
    ] = None
    rank: Annotated[
        int | None,
        Option(metavar="N", parser=units.count, help="Of adapters; 16 if not said.",
               rich_help_panel=PANEL),
    ] = None  # fmt: skip
    shard: Annotated[
        Sharding | None, _of_training(help="What data ranks deal out; all of it if not said.")
    ] = None
    recompute: Annotated[
        Recompute | None, _of_training(help="What is computed again; full if not said.")
    ] = None
    loss: Annotated[Losses | None, _of_training(help="How the loss is computed.")] = None
    offload: Annotated[
        bool, _of_training("--offload", help="Weights and optimizer states on the host.")
    ] = False
    offload_only: Annotated[Offload | None, _of_training(help="Some of that.")] = None

    def asked(self, train: Methods, batch: int | None, seq: int, gpus: int | None) -> list[Asked]:
        """What is said, by each method where all are asked for."""
        from llmcalc.api.fit_methods import METHODS  # noqa: PLC0415  (commands load when called)
        from llmcalc.api.request import at_least_one  # noqa: PLC0415

        at_least_one(batch=batch)
        if train != "all":
            return [self._asked(train, batch, seq, gpus)]
        whole = replace(self, rank=None)  # a rank is that of adapters
        each = [(method, whole if method == "full" else self) for method in METHODS]
        return [said._asked(method, batch, seq, gpus) for method, said in each]  # noqa: SLF001

    def _asked(self, method: Method, batch: int | None, seq: int, gpus: int | None) -> Asked:
        """What is said, and what recipes of fine-tuning do where nothing is."""
        from llmcalc.api.fit_train import usual  # noqa: PLC0415
        from llmcalc.cli.training import Training  # noqa: PLC0415

        said = {one.name: getattr(self, one.name) for one in fields(self)}
        own = {name: value for name, value in said.items() if value is not None}
        training = Training(
            **usual(gpus) | own, method=method, micro_batch=1 if batch is None else batch,
            seq=seq, gpus=gpus,
        )  # fmt: skip
        return training.asked()

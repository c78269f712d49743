"""The run around a training step: how much is trained, at what rate and price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from llmcalc import units

if TYPE_CHECKING:
    from llmcalc.api.train_time import Asked

RUN = "The whole run, and its time"


def _run(*flags: str, metavar: str, help: str) -> Any:
    return Option(*flags, metavar=metavar, help=help, rich_help_panel=RUN)


def _count(*flags: str, metavar: str, help: str) -> Any:
    return Option(*flags, metavar=metavar, help=help, rich_help_panel=RUN, parser=units.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """Tokens or samples, utilisation, price, network and failures."""

    tokens: Annotated[int | None, _count(metavar="N", help="Trained on, as 15T.")] = None
    samples: Annotated[
        int | None, _count(metavar="N", help="Of --seq tokens each, instead of --tokens.")
    ] = None
    epochs: Annotated[float | None, _run(metavar="N", help="Over the samples; 1 if not said.")] = (
        None
    )
    packing: Annotated[
        float | None, _run(metavar="SHARE", help="Of each sequence that is no padding.")
    ] = None
    mfu: Annotated[
        float | None, _run(metavar="SHARE", help="Measured; else from what public runs reach.")
    ] = None
    price: Annotated[float | None, _run(metavar="USD", help="Of one GPU for an hour.")] = None
    network: Annotated[float | None, _run(metavar="GB/S", help="Of each GPU to other nodes.")] = (
        None
    )
    mtbf: Annotated[float | None, _run(metavar="HOURS", help="Of one GPU between failures.")] = None
    checkpoint: Annotated[
        float | None, _run(metavar="SECONDS", help="That writing one stops training for.")
    ] = None
    restart: Annotated[
        float | None, _run(metavar="SECONDS", help="From a failure until training goes on.")
    ] = None

    def asked(self) -> Asked:
        """What was said."""
        from llmcalc.api.train_time import Asked  # noqa: PLC0415  (commands load when called)

        return Asked(
            tokens=self.tokens, samples=self.samples, epochs=self.epochs, packing=self.packing,
            mfu=self.mfu, price=self.price, network_gb_s=self.network, mtbf_hours=self.mtbf,
            checkpoint_seconds=self.checkpoint, restart_seconds=self.restart,
        )  # fmt: skip

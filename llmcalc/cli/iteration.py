"""One iteration of preference training: lengths, amounts, and how many iterations there are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from llmcalc import units
from llmcalc.cli.training import Training
from llmcalc.errors import UsageError

if TYPE_CHECKING:
    from llmcalc.api.rlhf_run import Pace
    from llmcalc.engines.train.plan import Plan

ITERATION = "An iteration, its time and cost"


def _option(*flags: str, metavar: str = "N", parser: Any = units.count, help: str) -> Any:
    return Option(*flags, metavar=metavar, parser=parser, help=help, rich_help_panel=ITERATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """Prompt and completion, group, updates, epochs, iterations, price, network."""

    prompt: Annotated[
        int | None, _option(metavar="TOKENS", parser=units.length,
                            help="Of each prompt; half of --seq if neither is said."),
    ] = None  # fmt: skip
    output: Annotated[
        int | None, _option(metavar="TOKENS", parser=units.length, help="Of each completion.")
    ] = None
    group: Annotated[
        int | None, _option(help="Completions of each prompt; as TRL has them if not said.")
    ] = None
    updates: Annotated[int, _option(help="Optimizer steps on what one rollout made.")] = 1
    epochs: Annotated[int, _option(help="Passes over it.")] = 1
    iterations: Annotated[int | None, _option(help="Of the whole run.")] = None
    price: Annotated[
        float | None,
        Option(metavar="USD", help="Of one GPU for an hour.", rich_help_panel=ITERATION),
    ] = None
    network: Annotated[
        float | None,
        Option(metavar="GB/S", help="Of each GPU to other nodes.", rich_help_panel=ITERATION),
    ] = None

    def plan(self, training: Training) -> tuple[Plan, int | None]:
        """Training on sequences of these lengths, and tokens of the prompt.

        Raises UsageError for unknown names, or lengths that contradict each other.
        """
        from llmcalc.api.request import at_least_one  # noqa: PLC0415  (commands load when called)

        prompt, output, seq = self.prompt, self.output, training.seq
        at_least_one(prompt=prompt, output=output)
        if prompt is None and output is None:
            return training.plan(), None
        if prompt is not None and output is not None:
            if seq not in {Training().seq, prompt + output}:
                raise UsageError(
                    f"--prompt and --output are {prompt + output:,} tokens, --seq says {seq:,}",
                    hint="leave one of the three out",
                )
            return replace(training, seq=prompt + output).plan(), prompt
        return training.plan(), prompt if prompt is not None else seq - (output or 0)

    def pace(self) -> Pace:
        """What was said of iterations."""
        from llmcalc.api.rlhf_run import Pace  # noqa: PLC0415  (commands load when called)

        return Pace(
            group=self.group, updates=self.updates, epochs=self.epochs,
            iterations=self.iterations, price=self.price, network_gb_s=self.network,
        )  # fmt: skip

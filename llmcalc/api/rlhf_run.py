"""One way to train on preferences: everything that `rlhf` is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from llmcalc.api.request import at_least_one, within_limit
from llmcalc.api.rlhf_engine import Engine
from llmcalc.api.rlhf_models import Cast
from llmcalc.engines.train.plan import Plan
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.algorithm import Algorithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What an iteration does, and how many there are; None is left to the algorithm, or unknown."""

    group: int | None = None
    """Completions of each prompt; None: as the algorithm has it."""
    updates: int = 1
    """Optimizer steps on what one rollout made."""
    epochs: int = 1
    """Passes over it."""
    iterations: int | None = None
    price: float | None = None
    """Of one GPU for an hour."""
    network_gb_s: float | None = None
    """Of each GPU's card to other nodes."""


PLAIN = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One way to train on preferences."""

    algorithm: Algorithm
    cast: Cast
    plan: Plan
    """Of the policy; a critic is trained alike."""
    engine: Engine
    idle_on_host: bool = False
    """Whether models wait on the host while they do not compute."""
    prompt: int | None = None
    """Tokens of each sequence that are its prompt; None: half of them."""
    pace: Pace = PLAIN
    force: bool = False
    """Go over the model's context limit."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of each prompt."""
        return self.plan.seq // 2 if self.prompt is None else self.prompt

    @property
    def output_tokens(self) -> int:
        """Tokens of each completion."""
        return self.plan.seq - self.prompt_tokens

    @property
    def gpus(self) -> int:
        """Of trainer and engine together."""
        return self.plan.parallel.gpus + self.engine.gpus

    @property
    def sequences(self) -> int:
        """Of one iteration: of all its optimizer steps, on all ranks."""
        step = self.plan.micro_batch * self.plan.micro_batches * self.plan.parallel.dp
        return step * self.pace.updates

    @property
    def rolled_at_once(self) -> int:
        """The most sequences that engines make at once."""
        said = self.engine.batch
        return self.sequences if said is None else min(said, self.sequences)


def checked(run: Run) -> Run:
    """The run with pairs going through together, and logits where the framework computes them.

    Raises ImpossibleError for amounts that cannot be, UsageError for what the algorithm lacks.
    """
    algorithm, plan = run.algorithm, run.plan
    within_limit(run.cast.policy, plan.seq, option="--seq", force=run.force)
    _sensible(run.pace)
    if not 0 < run.prompt_tokens < plan.seq:
        raise ImpossibleError(
            f"a prompt of {run.prompt_tokens:,} leaves no completion in {plan.seq:,} tokens",
            hint="give --prompt and --output, or a longer --seq",
        )
    if not algorithm.generates and (run.engine.gpus or run.pace.group):
        option = "--rollout-gpus" if run.engine.gpus else "--group"
        raise UsageError(f"{algorithm.name} makes no sequences", hint=f"leave {option} out")
    fewer = algorithm.name in plan.framework.rlhf.completion_logits
    plan = replace(
        plan, micro_batch=plan.micro_batch * algorithm.together,
        with_logits=run.output_tokens if fewer else None,
    )  # fmt: skip
    return replace(run, plan=plan)


def _sensible(pace: Pace) -> None:
    at_least_one(
        group=1 if pace.group is None else pace.group, updates=pace.updates, epochs=pace.epochs,
        iterations=1 if pace.iterations is None else pace.iterations,
    )  # fmt: skip
    if pace.price is not None and not 0 <= pace.price < inf:
        raise UsageError(f"price is {pace.price}: below 0, or no number")
    if pace.network_gb_s is not None and not 0 < pace.network_gb_s < inf:
        raise UsageError(f"network is {pace.network_gb_s}: not above 0")

"""One way to train on preferences: everything that `rlhf` is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, inf

from llmcalc.api.request import at_least_one, not_negative, within_limit
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
        return max(1, self.plan.seq // 2) if self.prompt is None else self.prompt

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
    _possible_lengths(run.prompt_tokens, plan.seq)
    _needed(run)
    _whole_groups(run)
    fewer = algorithm.name in plan.framework.rlhf.completion_logits
    plan = replace(
        plan, micro_batch=plan.micro_batch * algorithm.together,
        with_logits=run.output_tokens if fewer else None,
    )  # fmt: skip
    return replace(run, plan=plan)


def _possible_lengths(prompt: int, seq: int) -> None:
    if prompt >= seq:
        raise ImpossibleError(
            f"a prompt of {prompt:,} leaves no completion within --seq {seq:,}",
            hint="give --output too, or a longer --seq",
        )
    if prompt < 1:
        raise ImpossibleError(
            f"a completion of {seq - prompt:,} leaves no prompt within --seq {seq:,}",
            hint="give --prompt too, or a longer --seq",
        )


def _needed(run: Run) -> None:
    """Refuse what the algorithm does not have."""
    algorithm, cast = run.algorithm, run.cast
    not_negative(rollout_gpus=run.engine.gpus)
    frozen = {role.name for role in algorithm.roles if not role.trained}
    made = {"--rollout-gpus": run.engine.gpus, "--group": run.pace.group}
    for option, given in made.items():
        if given and not algorithm.generates:
            raise UsageError(f"{algorithm.name} makes no sequences", hint=f"leave {option} out")
    if cast.critic and not any(role.name == "critic" for role in algorithm.roles):
        raise UsageError(f"{algorithm.name} has no value model", hint="leave --critic-model out")
    if cast.reward and "reward" not in frozen:
        raise UsageError(
            f"{algorithm.name} has no reward model beside the one it trains"
            if algorithm.name == "reward" else f"{algorithm.name} has no reward model",
            hint="leave --reward-model out",
        )  # fmt: skip
    if cast.reward and not cast.has_reward:
        raise UsageError(
            "--reward-model and --no-reward-model contradict each other", hint="give one of them"
        )


def _whole_groups(run: Run) -> None:
    """Refuse a group that is asked for and does not divide the sequences, as TRL does."""
    group, made, plan = run.pace.group, run.sequences, run.plan
    if group is None or made % group == 0:
        return
    each = plan.micro_batch * plan.parallel.dp
    batches = group // gcd(each * run.pace.updates, group)
    enough = -(-plan.micro_batches // batches) * batches * each
    raise ImpossibleError(
        f"--group {group} does not divide the {made:,} sequences of an iteration",
        hint=f"take a divisor of {made:,}, or --global-batch {enough}",
    )


def _sensible(pace: Pace) -> None:
    at_least_one(
        group=1 if pace.group is None else pace.group, updates=pace.updates, epochs=pace.epochs,
        iterations=1 if pace.iterations is None else pace.iterations,
    )  # fmt: skip
    if pace.price is not None and not 0 <= pace.price < inf:
        raise ImpossibleError(
            f"--price {pace.price} is below 0, or no number", hint="of one GPU for an hour, as 2.5"
        )
    if pace.network_gb_s is not None and not 0 < pace.network_gb_s < inf:
        raise ImpossibleError(
            f"--network {pace.network_gb_s} is not above 0", hint="GB/s of each GPU, as 50"
        )

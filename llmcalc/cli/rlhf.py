"""`llmcalc rlhf`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from llmcalc.cli.command import command
from llmcalc.cli.iteration import Iteration
from llmcalc.cli.options import Force, Model, OptionalGpu
from llmcalc.cli.rollout import Rollout
from llmcalc.cli.training import Training
from llmcalc.report.model import Report

if TYPE_CHECKING:
    from llmcalc.spec.algorithm import Algorithm


@command(
    "llmcalc rlhf llama2-7b --algo ppo --gpu a100-80 -n 8 --shard zero3",
    "llmcalc rlhf qwen3-8b --algo grpo --method lora --no-reward-model --gpu h100",
    "llmcalc rlhf qwen3-8b --algo dpo --gpu h100 -n 8 --shard fsdp --recompute full",
    "llmcalc rlhf qwen3-32b --algo grpo -n 32 --shard zero3 --rollout-gpus 8",
    "llmcalc rlhf qwen3-8b --algo rloo --gpu h200 -n 8 --shard fsdp -s 4k --price 3",
)
def rlhf(
    model: Model,
    *,
    algo: Annotated[
        str, typer.Option(metavar="NAME", help="As ppo, grpo, rloo, reinforce++, dpo or reward.")
    ],
    gpu: OptionalGpu = None,
    reward_model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="That gives rewards; else like the policy.")
    ] = None,
    no_reward_model: Annotated[
        bool, typer.Option("--no-reward-model", help="Rewards come from rules.")
    ] = False,
    critic_model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The value model; else like the reward's.")
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option("--reference/--no-reference", help="Whether a reference is held; else it is."),
    ] = None,
    idle_on_host: Annotated[
        bool, typer.Option("--idle-on-host", help="Models wait on the host between their turns.")
    ] = False,
    iteration: Iteration,
    training: Training,
    rollout: Rollout,
    force: Force = False,
) -> Report:
    """What preference training holds on each GPU, phase by phase; how long and costly it is."""
    from llmcalc.api.rlhf import Cast, Run  # noqa: PLC0415  (commands load when called)
    from llmcalc.api.rlhf import rlhf as answer  # noqa: PLC0415
    from llmcalc.api.train_rules import Said, idle  # noqa: PLC0415
    from llmcalc.api.train_time import Asked  # noqa: PLC0415
    from llmcalc.catalog import find, recipes  # noqa: PLC0415

    algorithm, (plan, prompt) = recipes.algorithm(algo), iteration.plan(training)
    rollout.refuse_without(algorithm)
    cast = Cast(
        policy=find.card(model),
        reward=find.card(reward_model) if reward_model else None,
        critic=find.card(critic_model) if critic_model else None,
        has_reference=reference is not False, has_reward=not no_reward_model,
    )  # fmt: skip
    run = Run(
        algorithm=algorithm, cast=cast, plan=plan, engine=rollout.engine(),
        idle_on_host=idle_on_host, prompt=prompt, pace=iteration.pace(), force=force,
    )  # fmt: skip
    on = find.gpu(gpu) if gpu else None
    report = answer(run, gpu=on)
    said = Said(
        training=training.asked(), card=cast.policy, gpu=on,
        run=Asked(network_gb_s=iteration.network),
    )  # fmt: skip
    named = {"reference": reference, "reward-model": False if no_reward_model else None}
    warnings = (*idle(said), *_idle_roles(algorithm, named))
    return replace(report, warnings=(*report.warnings, *warnings))


def _idle_roles(algorithm: Algorithm, named: dict[str, bool | None]) -> tuple[str, ...]:
    """A warning for each model that is asked for or left out, where there is none of it."""
    frozen = {role.name for role in algorithm.roles if not role.trained}
    return tuple(
        f"--{'' if wanted else 'no-'}{name} does nothing: {algorithm.name} has none"
        for name, wanted in named.items()
        if wanted is not None and name.removesuffix("-model") not in frozen
    )

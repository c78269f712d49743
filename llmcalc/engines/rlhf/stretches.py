"""When is a GPU fullest? One iteration as stretches, in each of which one model is at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from llmcalc.engines.rlhf.member import Member
from llmcalc.engines.rlhf.share import Share
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.runtime import overhead
from llmcalc.spec.algorithm import RoleName, Stretch

Shares = Mapping[RoleName, Share]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullest:
    """One GPU where it holds most within one stretch."""

    stretch: Stretch
    shares: Shares
    """By role."""
    process: int
    """Context, communication and reserve of the process that trains."""

    @property
    def total(self) -> int:
        """All roles, and the process."""
        return sum(share.total for share in self.shares.values()) + self.process


def fullest(found: tuple[Member, ...], stretch: Stretch, plan: Plan) -> Fullest:
    """The moment of a stretch at which the models on one GPU hold most, without the engine."""
    shares = max(_moments(found, stretch), key=_total)
    return Fullest(
        stretch=stretch, shares=shares, process=overhead(plan, _total(shares)).total
    )  # fmt: skip


def _moments(found: tuple[Member, ...], stretch: Stretch) -> Iterator[Shares]:
    """Each model at work in turn, the others as they stand there."""
    idle: dict[RoleName, Share] = {one.name: one.idle for one in found}
    yield idle
    if stretch == "sync":
        # The policy hands over; without an engine nothing is handed.
        yield from (idle | {one.name: one.handing} for one in found if one.name == "policy")
    learns = [one for one in found if one.trained and stretch == "train"]
    scores = [one for one in found if stretch in one.computes and one not in learns]
    for one in learns:
        for moment in one.step:
            yield idle | {one.name: moment}
    for one in scores:
        # Within a step what the trained model keeps waits for the scores.
        waiting = {other.name: other.step[0] for other in learns}
        yield idle | waiting | {one.name: one.scoring}


def _total(shares: Shares) -> int:
    return sum(share.total for share in shares.values())


def beside(one: Fullest, engine: Share | None) -> Fullest:
    """The same GPU with the engine that makes sequences on it, too."""
    shares = one.shares if engine is None else {**one.shares, "rollout": engine}
    return Fullest(stretch=one.stretch, shares=shares, process=one.process)


def asleep(engine: Share) -> Share:
    """An engine without weights and cache; what the driver counts stays.

    vLLM's sleep mode gives back weights and cache, not the context, its libraries and CUDA graphs
    (https://docs.vllm.ai/en/latest/features/sleep_mode/).
    """
    return Share(runtime=engine.runtime)


def waking(engine: Share) -> Share:
    """An engine that has its weights back, and no cache yet.

    So new weights are loaded before the cache is there: vLLM's wake_up(tags=["weights"]), then
    wake_up(tags=["kv_cache"]) (https://docs.vllm.ai/en/latest/features/sleep_mode/).
    """
    return Share(weights=engine.weights, runtime=engine.runtime)

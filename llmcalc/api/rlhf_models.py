"""Which models a run holds: the policy, and those beside it, with the heads that they have."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcalc.api.plans import lowered
from llmcalc.api.targets import placed
from llmcalc.blueprint.scalar_head import with_scalar_head
from llmcalc.catalog.data import quantization
from llmcalc.engines.rlhf.member import Member, Model, members
from llmcalc.engines.train.plan import Pair, Plan
from llmcalc.spec.algorithm import Algorithm, Role
from llmcalc.spec.card import ModelCard

SCALAR = {"reward", "critic"}
"""Roles whose head puts out one number (Ouyang et al., arXiv:2203.02155, section 3.5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who takes each role; None: a model like the policy."""

    policy: ModelCard
    reward: ModelCard | None = None
    critic: ModelCard | None = None
    has_reference: bool = True
    """Whether a reference is held; without a penalty against it none is."""
    has_reward: bool = True
    """Whether rewards come from a model, not from rules."""

    def card(self, role: Role) -> ModelCard:
        """The model that takes a role; a critic is begun from the reward model."""
        taken = {"reward": self.reward, "critic": self.critic or self.reward}
        return taken.get(role.name) or self.policy

    def roles(self, algorithm: Algorithm) -> tuple[Role, ...]:
        """The models that are held."""
        missing = {
            name
            for name, held in (("reference", self.has_reference), ("reward", self.has_reward))
            if not held
        }
        return tuple(one for one in algorithm.models if one.trained or one.name not in missing)


def model(role: Role, cast: Cast, plan: Plan) -> Model:
    """The operations of a role's model."""
    card = cast.card(role)
    whole = lowered(card, plan.framework)
    return Model(
        role=role,
        ledger=with_scalar_head(whole) if role.name in SCALAR else whole,
        format=quantization("bf16"),
        within=role.name == "reference" and plan.adapters is not None,
        pairs=_pairs(placed(plan, card, whole)) if role.trained else (),
    )


def _pairs(plan: Plan) -> tuple[Pair, ...]:
    return plan.adapters.pairs if plan.adapters else ()


def held(one: Model, plan: Plan, *, away: bool) -> tuple[Member, ...]:
    """What the model holds on each pipeline stage."""
    return members(one, own_plan(one, plan), away=away)


def own_plan(one: Model, plan: Plan) -> Plan:
    """How it is trained: a new head is trained whole beside adapters."""
    if not (plan.adapters and one.role.trained):
        return plan
    head = {"head"} if one.role.name in SCALAR else set()
    trained = plan.adapters.trained | head
    return replace(plan, adapters=replace(plan.adapters, trained=trained, pairs=one.pairs))

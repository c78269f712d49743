"""What an engine loads beside a model: drafts that guess tokens, adapters, a tower at work."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import Ledger, Matmul, Section
from llmcalc.engines import activations
from llmcalc.engines.part import Part
from llmcalc.formula import formula

ADAPTED = ("attention", "mlp", "shared_expert", "ssm")
"""Components whose linear layers take adapters; those of experts are loaded by few engines."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """What is asked for beside the model; nothing by default."""

    draft: Ledger | None = None
    """A smaller model that proposes tokens; stored and cached as the model is."""
    mtp: bool = False
    """Whether the model's own multi-token prediction proposes them."""
    adapters: int = 0
    """LoRA adapters in memory at once."""
    rank: int = 16
    """Of each adapter."""
    shared_prefix: int = 0
    """Tokens at the start of every sequence that are the same, and cached once."""
    encoder_tokens: int = 0
    """Tokens of the language model, from images or sounds, that a tower makes at once."""

    def drafts(self, model: Ledger) -> tuple[tuple[str, Ledger], ...]:
        """The models that propose tokens, by name."""
        found = [("draft model", self.draft)] if self.draft else []
        if self.mtp and model.mtp:
            found.append(("multi-token prediction", _alone(model)))
        return tuple(found)

    def parts(self, rank: Ledger) -> tuple[Part, ...]:
        """Adapters, and the workspace of a tower, on one rank."""
        parts = []
        if self.adapters:
            parts.append(
                Part(name="LoRA adapters", group="weights", bytes=adapter_slots(self, rank),
                     basis="exact"),
            )  # fmt: skip
        if self.encoder_tokens and (live := _tower(rank, self.encoder_tokens)):
            parts.append(
                Part(name="encoder at work", group="activations", bytes=live, basis="modelled",
                     source="the widest moment of one layer of a tower"),
            )  # fmt: skip
        return tuple(parts)


NOTHING = Beside()


def _alone(model: Ledger) -> Ledger:
    """The heads of multi-token prediction as a model of their own."""
    layers = tuple(section._replace(kind="layer", width=model.hidden_size) for section in model.mtp)
    order = tuple(section.name for section in layers for _ in range(section.times))
    return model._replace(sections=layers, order=order, mtp=(), whole=None, before=0)


@formula(
    "adapters · r · ends · 2",
    source="slots laid out when the engine starts, A and B of every linear layer in 16 bits "
    "(vllm/lora/layers of vLLM 0.32)",
    unit="bytes",
)
def adapter_bytes(*, adapters: int, r: int, ends: int) -> int:
    """Bytes of slots for `adapters` of rank r over layers whose inputs and outputs are `ends`."""
    return adapters * r * ends * 2


def adapter_slots(beside: Beside, rank: Ledger) -> int:
    """Bytes of the slots for adapters on one rank."""
    ends = sum(section.times * _ends(section) for section in rank.sections)
    slots: int = adapter_bytes(adapters=beside.adapters, r=beside.rank, ends=ends)
    return slots


def _ends(section: Section) -> int:
    """Inputs and outputs of the linear layers of a block that take adapters."""
    if section.kind != "layer":
        return 0
    return sum(
        sum(operation.weight.shape[-2:])
        for operation in section.operations
        if isinstance(operation, Matmul)
        and operation.weight.role == "linear"
        and operation.weight.component in ADAPTED
    )


def _tower(rank: Ledger, tokens: int) -> int:
    """Bytes alive at the widest moment of a tower's layers, which see patches."""
    widest = [
        activations.live_bytes(
            tokens=tokens * section.per_token, d=section.width,
            widest=activations.widest_part(section), bytes=activations.ELEMENT_BYTES,
        )
        for section in rank.sections
        if section.stream == "tower" and section.width
    ]  # fmt: skip
    return max(widest, default=0)

"""What rules of storage may ask of a model: its layers, heads, experts, names and positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from llmcalc.blueprint.operations import AttentionProduct, Cache, GroupedMatmul, Ledger, Section
from llmcalc.blueprint.weight import Weight
from llmcalc.spec.storage import Group, Naming, Scheme, WeightClass


class Named(NamedTuple):
    """A weight by the name and the class that it has in a scheme."""

    tensor: str
    cls: WeightClass


class Model(NamedTuple):
    """The facts of a whole model, and the place of each of its layers."""

    layers: int
    gqa: int
    """Query heads of a key head, in the first layer that has any."""
    experts: int
    has_head: bool
    """Whether a head is stored beside the token table."""
    family: str
    held: frozenset[str]
    """Names of all weights, alone and with their component."""
    places: dict[str, tuple[int, ...]]
    """Numbers of the layers that each section stands for."""


def model(whole: Ledger) -> Model:
    """The facts of a ledger that is no share of another."""
    gqa, experts, has_head = 0, 0, False
    held: set[str] = set()
    for section in whole.sections:
        for operation in section.operations:
            if isinstance(operation, GroupedMatmul):
                experts = max(experts, operation.experts)
        gqa = gqa or (_gqa(section) if section.kind == "layer" else 0)
        for weight in weights(section):
            has_head |= weight.role == "head" and weight.learned
            held.update((weight.name, f"{weight.component}/{weight.name}"))
    places: dict[str, list[int]] = {}
    for number, name in enumerate(whole.order):
        places.setdefault(name, []).append(number)
    return Model(
        layers=len(whole.order), gqa=gqa, experts=experts, has_head=has_head,
        family=whole.family, held=frozenset(held),
        places={name: tuple(numbers) for name, numbers in places.items()},
    )  # fmt: skip


def weights(section: Section) -> Iterator[Weight]:
    """Every weight of a section, in order."""
    for operation in section.operations:
        yield from getattr(operation, "weights", ())


def _gqa(section: Section) -> int:
    """Query heads of a key head in one kind of layer; 0: it has none."""
    heads = [one.heads for one in section.operations if isinstance(one, AttentionProduct)]
    cached = [one for one in section.operations if isinstance(one, Cache)]
    # A latent is cached once for all heads, and files store it as one key head.
    return heads[0] // (cached[0].units or 1) if heads and cached else 0


def fits_model(rule: Naming | object, about: Model) -> bool:
    """Whether families and names that a rule or a naming asks for are those of the model."""
    families: tuple[str, ...] = getattr(rule, "families", ())
    having: tuple[str, ...] = getattr(rule, "having", ())
    without: tuple[str, ...] = getattr(rule, "without", ())
    return (
        (not families or about.family in families)
        and (not having or not about.held.isdisjoint(having))
        and about.held.isdisjoint(without)
    )


class Names:
    """How a scheme calls the weights of one model."""

    def __init__(self, scheme: Scheme, about: Model) -> None:
        self._known: dict[str, Naming] = {}
        for naming in scheme.names:
            if fits_model(naming, about):
                self._known.update(dict.fromkeys(naming.weights, naming))
        self._splits = {split.weight: split.pieces for split in scheme.splits}

    def of(self, weight: Weight) -> tuple[tuple[Named, str], ...]:
        """The tensors that hold a weight, each with its shape in symbols where it is split."""
        if weight.name in self._splits:
            pieces = self._splits[weight.name]
            return tuple((Named(piece.tensor, weight.role), piece.shape) for piece in pieces)
        naming = self._known.get(f"{weight.component}/{weight.name}") or self._known.get(
            weight.name
        )
        if naming is None:
            return ((Named(weight.name, weight.role), ""),)
        return ((Named(naming.tensor, naming.cls or weight.role), ""),)


class Counter:
    """Positions of the tensors of a group: which of how many, from the first layer to the last."""

    def __init__(self, group: Group, whole: Ledger, about: Model, names: Names) -> None:
        self._group, self._about = group, about
        held = {
            section.name: sorted(
                {
                    named.tensor
                    for weight in weights(section)
                    for named, _ in names.of(weight)
                    if named.tensor in group.tensors and named.cls != "bias"
                }
            )
            for section in whole.sections
            if section.kind == "layer"
        }
        self._order = {
            (number, tensor): at
            for at, (number, tensor) in enumerate(
                (number, tensor)
                for number, name in enumerate(whole.order)
                for tensor in held.get(name, ())
            )
        }

    def position(self, layer: int, tensor: str) -> tuple[int, int]:
        """Which of how many."""
        at = self._order.get((layer, tensor), layer)
        if self._group.counted == "tensors":
            return at, len(self._order)
        if self._group.counted == "layers" and self._about.experts > 1:
            return layer, self._about.layers
        return at, self._about.layers

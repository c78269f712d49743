"""Which format is each weight stored in? The last rule of a policy that fits it says so.

A share of a model is stored as the whole model is: position, rows and heads are the whole model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from llmcalc.blueprint.operations import Ledger, Section
from llmcalc.blueprint.weight import Component, Weight, sized
from llmcalc.engines.storage_model import Counter, Model, Named, Names, fits_model, model, weights
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.storage import ElementFormat, Rule

_MOST_BITS_EVERY = 3


class Choice(NamedTuple):
    """How one weight, or a piece of it, is stored in the layers of its section."""

    tensor: str
    split: str
    """Its shape in symbols, where it is a piece of a weight."""
    everywhere: ElementFormat | None
    by_layer: Mapping[int, ElementFormat]
    """Where not the same everywhere."""


class _Subject(NamedTuple):
    """What rules see of a tensor, wherever its layer stands."""

    named: Named
    component: Component
    row: int
    vector: bool
    tower: bool
    head: bool


class _Known(NamedTuple):
    """A ledger by identity: what was found out about it is kept as long as this."""

    ledger: Ledger

    def __hash__(self) -> int:
        return id(self.ledger)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.ledger is other.ledger

    def __ne__(self, other: object) -> bool:
        return not self == other


def plan(ledger: Ledger, policy: Quantization) -> Plan:
    """The plan of the whole model that a ledger is of."""
    return _plan(_Known(ledger.whole or ledger), policy)


@lru_cache(maxsize=128)
def _plan(known: _Known, policy: Quantization) -> Plan:
    return Plan(known.ledger, policy, _model(known))


@lru_cache(maxsize=64)
def _model(known: _Known) -> Model:
    return model(known.ledger)


class Plan:
    """The choices of one policy for every weight of one model."""

    def __init__(self, whole: Ledger, policy: Quantization, about: Model) -> None:
        self._whole, self.policy, self.about = whole, policy, about
        self._formats = {format.name: format for format in policy.scheme.formats}
        self._names = Names(policy.scheme, about)
        self._rules = [rule for rule in policy.rules if self._may_fit(rule)]
        self._sections = {section.name: section for section in whole.sections}
        self._made: dict[str, tuple[tuple[Choice, ...], ...]] = {}
        self._by_subject: dict[tuple[_Subject, str, str], Choice] = {}

    def choices(self, section: Section) -> Iterator[tuple[Weight, tuple[Choice, ...]]]:
        """Each weight of a (sharded) section with the tensors that hold it.

        A device may hold a section without some of its operations: names tell which are left.
        """
        whole = self._sections.get(section.name, section)
        if section.name not in self._made:
            self._made[section.name] = tuple(self._of(one, whole) for one in weights(whole))
        made = self._made[section.name]
        if len(section.operations) == len(whole.operations):
            return zip(weights(section), made, strict=True)
        named = {
            (one.component, one.name): at for one, at in zip(weights(whole), made, strict=True)
        }
        return ((one, named[one.component, one.name]) for one in weights(section))

    def layers(self, section: Section, ledger: Ledger) -> tuple[int, ...]:
        """Numbers in the whole model of the layers that a section of a share stands for."""
        places = self.about.places.get(section.name, ()) if section.kind == "layer" else ()
        last = ledger.before + len(ledger.order)
        inside = tuple(number for number in places if ledger.before <= number < last)
        return inside if len(inside) == section.times else tuple(range(section.times))

    def _may_fit(self, rule: Rule) -> bool:
        """What a rule asks of the policy and of the model."""
        policy, about = self.policy, self.about
        return (
            (not rule.files or policy.name in rule.files)
            and rule.imatrix in (None, policy.imatrix)
            and rule.experts in (None, about.experts)
            and (rule.least_experts or 0) <= about.experts
            and (rule.least_gqa or 0) <= about.gqa
            and rule.layers in (None, about.layers)
            and fits_model(rule, about)
        )

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        return {group.name: group.tensors for group in self.policy.scheme.groups}

    @cached_property
    def _counters(self) -> dict[str, Counter]:
        return {
            group.name: Counter(group, self._whole, self.about, self._names)
            for group in self.policy.scheme.groups
        }

    def _of(self, weight: Weight, section: Section) -> tuple[Choice, ...]:
        return tuple(
            self._choice(named, split, weight, section) for named, split in self._names.of(weight)
        )

    def _choice(self, named: Named, split: str, weight: Weight, section: Section) -> Choice:
        shape = sized(split, weight.dims) if split else weight.shape
        is_table = weight.name == "embed_tokens"
        subject = _Subject(
            named=named, component=weight.component, row=shape[-1],
            vector=weight.numel == shape[-1],
            tower=section.stream == "tower",
            head=named.cls == "head" or (is_table and not self.about.has_head),
        )  # fmt: skip
        key = subject, split, section.name
        if key not in self._by_subject:
            self._by_subject[key] = self._chosen(*key)
        return self._by_subject[key]

    def _chosen(self, subject: _Subject, split: str, section: str) -> Choice:
        rules = [rule for rule in self._rules if self._fits(rule, subject)]
        layers = self.about.places.get(section, ())
        if layers and any(rule.is_placed for rule in rules):
            by_layer = {layer: self._last(rules, subject, layer) for layer in layers}
            one = next(iter(by_layer.values()))
            everywhere = one if all(other is one for other in by_layer.values()) else None
        else:
            by_layer, everywhere = {}, self._last(rules, subject, 0)
        return Choice(subject.named.tensor, split, everywhere, by_layer)

    def _last(self, rules: list[Rule], subject: _Subject, layer: int) -> ElementFormat:
        """The format by the last of the rules that holds in a layer."""
        chosen = self.policy.default
        for rule in rules:
            if (not rule.of or chosen in rule.of) and (
                not rule.is_placed or self._stands(rule, subject.named.tensor, layer)
            ):
                chosen = rule.format
        return self._formats[chosen]

    def _fits(self, rule: Rule, subject: _Subject) -> bool:
        """What a rule asks of a tensor, wherever it stands."""
        return (
            (not rule.weights or self._speaks_of(rule, subject.named.tensor))
            and (not rule.classes or subject.named.cls in rule.classes)
            and (not rule.components or subject.component in rule.components)
            and rule.head in (None, subject.head)
            and rule.tower in (None, subject.tower)
            and rule.vector in (None, subject.vector)
            and (not rule.ragged or subject.row % rule.ragged != 0)
        )

    def _speaks_of(self, rule: Rule, tensor: str) -> bool:
        return any(tensor == name or tensor in self._groups.get(name, ()) for name in rule.weights)

    def _stands(self, rule: Rule, tensor: str, layer: int) -> bool:
        """Whether the position is one that a rule is for."""
        group = next(name for name in rule.weights if name in self._counters)
        at, of = self._counters[group].position(layer, tensor)
        return (
            (rule.first is None or at < rule.first)
            and (rule.since is None or at >= rule.since[0] * of // rule.since[1])
            and (rule.until is None or at < rule.until[0] * of // rule.until[1])
            and rule.more_bits in (None, _deserves_more_bits(at, of))
        )


def _deserves_more_bits(at: int, of: int) -> bool:
    """Of llama.cpp's src/llama-quant.cpp: use_more_bits."""
    eighth = of // 8
    return at < eighth or at >= 7 * of // 8 or (at - eighth) % _MOST_BITS_EVERY == 2  # noqa: PLR2004

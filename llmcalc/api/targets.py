"""From names that people type to the products of one model that adapters stand beside.

A name is a group of products, a layer of the model's class in transformers, a product of ours, or
what such a layer is called elsewhere. PEFT puts one pair of factors beside a layer, however many
products it computes; others split q, k and v.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul
from llmcalc.catalog.recipes import MODULES
from llmcalc.catalog.suggest import did_you_mean, nearest
from llmcalc.engines.train.plan import Pair, Plan
from llmcalc.errors import ImpossibleError, LlmcalcError, UsageError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.modules import Modules

ALL, HEAD = "all-linear", "lm_head"
NAMED: Mapping[str, frozenset[str]] = {
    "qkv": frozenset({"q", "k", "v", "qkv"}),
    "qv": frozenset({"q", "v"}),
    "head": frozenset({HEAD}),
}
"""Groups by name."""
PARTS: Mapping[str, frozenset[str]] = {
    "attention": frozenset({"attention"}),
    "mlp": frozenset({"mlp", "shared_expert", "experts"}),
    "experts": frozenset({"experts"}),
}
"""Groups by what their weights count as."""

Products = dict[str, Matmul | GroupedMatmul]


def placed(plan: Plan, card: ModelCard, ledger: Ledger) -> Plan:
    """The plan with its adapters beside the products of one model.

    Raises UsageError for a name that nobody has, ImpossibleError for one that this model has not.
    """
    adapters = plan.adapters
    if adapters is None or adapters.pairs:
        return plan
    found = _Placing(card, ledger, peft=plan.framework.peft).pairs(adapters.targets)
    return replace(plan, adapters=replace(adapters, pairs=found))


def torn(plan: Plan, card: ModelCard, ledger: Ledger) -> dict[str, str]:
    """An assumption where adapters stand beside a part of a layer, as PEFT's never do."""
    own = modules_of(card) if plan.adapters and plan.framework.peft else None
    if own is None or plan.adapters is None:
        return {}
    alone = {pair.products[0] for pair in plan.adapters.pairs if len(pair.products) == 1}
    products = products_of(ledger)
    for name, entries in own.linear.items():
        for entry in entries:
            parts = set(entry.partition("*")[0].split("+")) & products.keys()
            if len(parts) > 1 and (found := sorted(alone & parts)):
                said = f"{', '.join(found)} within {name}, beside which PEFT puts one pair"
                return {"adapters apart": said}
    return {}


def narrowest(plan: Plan, ledger: Ledger) -> int | None:
    """The narrowest side of what adapters stand beside, above which a rank adds nothing."""
    if plan.adapters is None:
        return None
    products = products_of(ledger)
    sides = []
    for pair in plan.adapters.pairs:
        shapes = [products[name].weight.shape for name in pair.products]
        sides += [shapes[0][-1], sum(shape[-2] for shape in shapes) // pair.cut]
    return min(sides)


def modules_of(card: ModelCard) -> Modules | None:
    """How the class of a model names its layers; None where we know of none."""
    from llmcalc.checks.hf_config.model_types import model_type  # noqa: PLC0415  (adapters alone)

    kind = model_type(card.name, card.family) or card.family
    return _modules(card.name) or _modules(kind)


@lru_cache(maxsize=256)
def _modules(name: str) -> Modules | None:
    return MODULES.find(name)


def products_of(ledger: Ledger) -> Products:
    """The products of the language model by name; those of towers have no adapters."""
    return {
        one.name: one
        for section in ledger.sections
        if section.stream != "tower"
        for one in section.operations
        if isinstance(one, (Matmul, GroupedMatmul))
    }


class _Placing:
    """The names of one model."""

    def __init__(self, card: ModelCard, ledger: Ledger, *, peft: bool) -> None:
        self.model = card.name
        self.products = products_of(ledger)
        own = modules_of(card)
        self.any = _layers(MODULES.named("any"))
        self.strict = peft and own is not None
        self.layers = _layers(own) if own else {}
        self.linear = own.linear | (own.taken_for if peft else {}) if own else {}

    def pairs(self, names: frozenset[str]) -> tuple[Pair, ...]:
        """Each pair of factors once, in a fixed order."""
        layers: dict[str, tuple[str, ...]] = {}
        wanted: set[str] = set()
        known = self.layers | self.linear
        for name in sorted(names):
            if name == ALL and self.strict:
                layers |= self.linear
            elif (group := self._group(name)) is not None:
                if not group:
                    raise self._has_none(name)
                wanted |= group
            elif name in known:
                layers[name] = known[name]
            elif name in self.products:
                wanted.add(name)
            else:
                layers[name] = self._elsewhere(name)
        for name in layers.keys() & names:
            if not any(self._beside({name: layers[name]})):
                raise self._has_none(name)
        found = list(self._beside(layers))
        wanted -= {product for pair in found for product in pair.products}
        if self.strict:
            whole = [one for one in self._beside(self.layers) if wanted.issuperset(one.products)]
            found += whole
            wanted -= {product for pair in whole for product in pair.products}
        return (*found, *(Pair((name,)) for name in sorted(wanted)))

    def _group(self, name: str) -> set[str] | None:
        """Products of a group, or None where it is none."""
        if name == ALL:
            return self._all_linear()
        if name in NAMED:
            return {one for one in self.products if one in NAMED[name]}
        if name in PARTS:
            return {one for one, product in self.products.items() if _is_of(product, PARTS[name])}
        return None

    def _all_linear(self) -> set[str]:
        """Every product but routers and the head; PEFT's are what it finds in a class."""
        return {
            name
            for name, one in self.products.items()
            if one.weight.role in {"linear", "expert"} and getattr(one, "backward", True)
        }

    def _elsewhere(self, name: str) -> tuple[str, ...]:
        """What a name means in other classes."""
        if name in self.any and not self.strict:
            return self.any[name]
        if name in self.any or any(name in _layers(one) for one in MODULES.all()):
            raise self._has_none(name)
        every = (*self._names(), ALL, *PARTS, *NAMED, *self._understood())
        hint = did_you_mean(name, every) if nearest(name[:100], every) else self._hint()
        raise UsageError(f"no adapters stand beside {name[:100]!r}", hint=hint)

    def _beside(self, layers: Mapping[str, tuple[str, ...]]) -> Iterator[Pair]:
        """The pairs beside layers, of the products that this model has."""
        seen = set()
        for name, entries in layers.items():
            for entry in entries:
                pair = self._pair(entry)
                key = (pair, name if pair.cut > 1 else "")
                if pair.products and key not in seen:
                    seen.add(key)
                    yield pair

    def _pair(self, entry: str) -> Pair:
        """What an entry of a file says, of the products that this model has."""
        joined, _, wide = entry.partition("*")
        joined, _, cut = joined.partition("/")
        parts = tuple(one for one in joined.split("+") if one in self.products)
        return Pair(parts, int(cut or 1), int(wide or 1))

    def _names(self) -> tuple[str, ...]:
        layers = self.linear if self.strict else ()
        return (*layers, *(one for one in self.products if one != HEAD))

    def _understood(self) -> Iterator[str]:
        """Names from elsewhere that mean something here."""
        for name, entries in ({} if self.strict else self.any).items():
            if any(self._beside({name: entries})):
                yield name

    def _has_none(self, name: str) -> LlmcalcError:
        return ImpossibleError(f"{self.model} has no {name[:100]}", hint=self._hint())

    def _hint(self) -> str:
        return f"it has {', '.join(dict.fromkeys(self._names()))}"


def _layers(modules: Modules) -> dict[str, tuple[str, ...]]:
    return modules.linear | modules.parameters


def _is_of(product: Matmul | GroupedMatmul, components: frozenset[str]) -> bool:
    """Whether a product is one of a part, and no router or indexer of it."""
    weight = product.weight
    learns = getattr(product, "backward", True)
    return weight.component in components and weight.role in {"linear", "expert"} and learns

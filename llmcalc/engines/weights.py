"""How many bytes do the weights take? Each in the format that a policy stores it in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from llmcalc.blueprint.operations import Ledger, Section
from llmcalc.blueprint.weight import Component, Weight, sized
from llmcalc.engines.storage import Choice, plan
from llmcalc.engines.storage_model import weights
from llmcalc.engines.tensor_bytes import Shape, planes, tensor_bytes
from llmcalc.formula import Step, is_recording, record, record_sum, symbol
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.storage import ElementFormat

GROUPS: dict[Component, str] = {
    "embedding": "embedding",
    "lm_head": "head",
    "experts": "experts",
    "attention": "attention",
    "mlp": "mlp",
    "shared_expert": "shared expert",
    "norm": "norms",
    "router": "router",
    "vision": "vision tower",
    "ssm": "recurrent mixers",
}
"""How components are named in a list of memory parts; the rest is `other weights`."""


class Tensor(NamedTuple):
    """A stored tensor, as often as layers have it alike."""

    section: str
    name: str
    """As the file calls it, without layer and `.weight`."""
    format: ElementFormat
    shape: Shape
    layers: tuple[int, ...]
    """Numbers of the layers, in the whole model; outside of layers those of the repeats."""
    in_layers: bool
    group: str
    bytes: int
    """Of all of them."""

    @property
    def times(self) -> int:
        """How many there are."""
        return len(self.layers)


def by_group(ledger: Ledger, policy: Quantization) -> dict[str, int]:
    """Bytes of all weights of a (sharded) ledger by the names of GROUPS."""
    width = _same_width(policy)
    sizes = _of_numbers(ledger, width) if width else _of_tensors(ledger, policy)
    if is_recording():
        _explain(ledger, policy, sizes)
    return sizes


def _of_tensors(ledger: Ledger, policy: Quantization) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for found in by_tensor(ledger, policy):
        sizes[found.group] = sizes.get(found.group, 0) + found.bytes
    return sizes


def _same_width(policy: Quantization) -> int | None:
    """Bytes of a number, where every weight is stored number by number in one format; else None."""
    format = next(one for one in policy.scheme.formats if one.name == policy.default)
    plane = format.planes[0]
    plain = (plane.rows, plane.cols, plane.run, plane.word) == (1, 1, None, None)
    alone = len(format.planes) == 1 and not policy.rules
    return plane.bits // 8 if plain and alone and plane.bits % 8 == 0 else None


def _of_numbers(ledger: Ledger, width: int) -> dict[str, int]:
    """What `_of_tensors` finds, sooner: numbers times their width, whatever tensor holds them."""
    sizes: dict[str, int] = {}
    for section in ledger.sections:
        for weight in weights(section):
            if weight.learned or weight.component != "lm_head":
                group = _group(section, weight)
                sizes[group] = sizes.get(group, 0) + weight.numel * section.times * width
    return sizes


def _group(section: Section, weight: Weight) -> str:
    return GROUPS.get(section.component or weight.component, "other weights")


def by_tensor(ledger: Ledger, policy: Quantization) -> tuple[Tensor, ...]:
    """Every tensor of a (sharded) ledger as the policy stores it, pieces of a tensor apart.

    A tied head is not stored twice; the copy that a last pipeline stage holds is.
    """
    return tuple(_tensors(ledger, policy))


def refused(ledger: Ledger, policy: Quantization) -> tuple[Tensor, ...]:
    """Tensors for which llama.cpp's quantiser asks for an importance matrix that there is not.

    Of the token table and the head it never asks for one, of Q2_K only in a Q2_K_S file.
    """
    if policy.imatrix:
        return ()
    return tuple(
        one
        for one in by_tensor(ledger, policy)
        if one.name not in {"token_embd", "per_layer_token_embd", "output"}
        and (one.format.needs_imatrix or (one.format.name, policy.name) == ("q2_k", "q2_k_s"))
    )


def _tensors(ledger: Ledger, policy: Quantization) -> Iterator[Tensor]:
    found = plan(ledger, policy)
    for section in ledger.sections:
        layers = found.layers(section, ledger)
        for weight, choices in found.choices(section):
            if not weight.learned and weight.component == "lm_head":
                continue  # the tied table, counted as the embedding
            for choice in choices:
                yield from _stored(weight, section, choice, layers, policy.group)


def _stored(
    weight: Weight, section: Section, choice: Choice, layers: tuple[int, ...], group: int | None
) -> Iterator[Tensor]:
    """One tensor for each format that the layers of a section store a weight in."""
    shape = _piece(weight, choice.split) if choice.split else weight.shape
    name = _group(section, weight)
    if choice.everywhere:
        by_format = {choice.everywhere.name: (choice.everywhere, layers)}
    else:
        by_format = {}
        for layer in layers:
            format = choice.by_layer[layer]
            known = by_format.get(format.name, (format, ()))[1]
            by_format[format.name] = (format, (*known, layer))
    for format, alike in by_format.values():
        size = tensor_bytes(shape, format, group) * len(alike)
        yield Tensor(
            section.name, choice.tensor, format, shape, alike, section.kind == "layer", name, size
        )


def _piece(weight: Weight, split: str) -> Shape:
    """The shape of a piece of a weight, of which a rank may hold only some rows."""
    rows, *rest = sized(split, weight.dims)
    whole, *_ = sized(weight.text, weight.dims)
    return (rows * weight.shape[0] // whole, *rest)


def _explain(ledger: Ledger, policy: Quantization, sizes: dict[str, int]) -> None:
    """Record the units of each format in each group, and their sums."""
    units: dict[tuple[str, ElementFormat], Counter[tuple[str, int]]] = {}
    for one in by_tensor(ledger, policy):
        counted = units.setdefault((one.group, one.format), Counter())
        for plane, number, size in planes(one.shape, one.format, policy.group):
            counted[plane, size] += number * one.times
    for group, total in sizes.items():
        formats = {format.name: n for (name, format), n in units.items() if name == group}
        sources = {
            format.name: format.source or policy.scheme.source
            for name, format in units if name == group
        }  # fmt: skip
        alone = len(formats) == 1
        steps = {}
        for name, counted in formats.items():
            called = symbol(group) if alone else symbol(group, name)
            steps[called] = _explain_format(called, counted, sources[name])
        if not alone:
            record_sum(symbol(group), steps, "bytes")
        assert sum(steps.values()) == total  # noqa: S101
    record_sum("weights", {symbol(name): size for name, size in sizes.items()}, "bytes")


def _explain_format(name: str, counted: Counter[tuple[str, int]], source: str) -> int:
    text = " + ".join(f"{plane} · {size}" for plane, size in counted)
    values = {plane: number for (plane, _), number in counted.items()}
    result = sum(number * size for (_, size), number in counted.items())
    record(Step(name=name, text=text, values=values, result=result, unit="bytes", source=source))
    return result

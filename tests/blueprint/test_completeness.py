"""Every kind of part is lowered, every component and every class of weights is known downstream."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

from hypothesis import given

from llmcalc.api.params import ParamsResult
from llmcalc.blueprint import lower
from llmcalc.blueprint.kinds import LOWERINGS
from llmcalc.blueprint.operations import Operation
from llmcalc.blueprint.weight import COMPONENTS, Component, Role
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import PARTS, Part
from llmcalc.spec.quantization import WeightClass
from tests.strategies import cards


def test_every_kind_of_part_has_a_lowering() -> None:
    assert set(PARTS) == set(LOWERINGS) == set(get_args(Part))


def test_every_component_is_a_field_of_the_result() -> None:
    assert set(COMPONENTS) == set(get_args(Component))
    assert set(COMPONENTS) <= {field.name for field in fields(ParamsResult)}


def test_every_role_of_a_weight_is_a_class_that_a_format_may_name() -> None:
    assert set(get_args(Role)) == set(get_args(WeightClass))


@given(cards())
def test_every_operation_is_of_the_closed_set_with_consistent_shapes(model: ModelCard) -> None:
    kinds = get_args(Operation)
    ledger = lower(model)
    for section in (*ledger.sections, *ledger.mtp):
        assert section.times >= 1
        for operation in section.operations:
            assert isinstance(operation, kinds)
            for weight in getattr(operation, "weights", ()):
                product = 1
                for axis in weight.shape:
                    product *= axis
                assert weight.numel == product >= 1
                assert product % (weight.units or 1) == product % (weight.experts or 1) == 0

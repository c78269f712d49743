"""Each tensor gets the type that llama.cpp's own quantiser gave it, on every row collected."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from llmcalc.blueprint import lower
from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog.data import quantization
from llmcalc.engines.weights import Tensor, by_group, by_tensor, refused
from llmcalc.spec.parts import Attention, Mlp, Moe, Part
from tests.strategies import small_card

ROWS = Path(__file__).parent.parent / "data" / "quantization" / "gguf_types.tsv"
Row = dict[str, str]


def _rows() -> Iterator[Row]:
    with ROWS.open(encoding="utf-8") as file:
        yield from csv.DictReader(
            (line for line in file if not line.startswith("#")), delimiter="\t"
        )


@cache
def _ledger(layers: int, gqa: int, experts: int) -> Ledger:
    """A model of that shape whose rows are whole blocks of every type."""
    feed: Part = Mlp(intermediate_size=512)
    if experts:
        feed = Moe(num_experts=experts, num_experts_per_tok=2, intermediate_size=512)
    attention = Attention(num_heads=gqa, num_kv_heads=1, head_dim=256)
    return lower(small_card(attention, feed, d=256, norms=2, times=layers, head=True))


def _shape(row: Row) -> Ledger:
    return _ledger(int(row["layers"]), int(row["heads_per_kv_head"]), int(row["experts"]))


@cache
def _stored(ftype: str, layers: int, gqa: int, experts: int) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {}
    for one in by_tensor(_ledger(layers, gqa, experts), quantization(ftype)):
        found.setdefault(one.name, []).append(one)
    return found


def _numbers(text: str) -> tuple[int, ...]:
    """`0-1,4` is 0, 1 and 4."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def _types(text: str) -> dict[str, tuple[int, ...]]:
    """`Q6_K[0-1] Q4_K[2-3]` by type; a tensor outside of layers has no numbers."""
    return {
        name.lower(): _numbers(layers) if layers else (0,)
        for name, layers in re.findall(r"(\w+)(?:\[([\d,-]+)\])?", text)
    }


@pytest.mark.parametrize("ftype", sorted({row["ftype"] for row in _rows()}))
def test_every_row_of_a_file_type_is_reproduced(ftype: str) -> None:
    for row in _rows():
        if row["ftype"] != ftype or row["types"] == "refused":
            continue
        shape = (int(row["layers"]), int(row["heads_per_kv_head"]), int(row["experts"]))
        got = _stored(ftype, *shape)[row["tensor"]]
        assert {one.format.name: one.layers for one in got} == _types(row["types"]), row


def test_what_the_quantiser_refused_without_an_importance_matrix_is_refused() -> None:
    for row in _rows():
        plain = replace(quantization(row["ftype"]), imatrix=False)
        assert bool(refused(_shape(row), plain)) == (row["types"] == "refused"), row


def test_nothing_is_refused_where_there_is_an_importance_matrix() -> None:
    ledger = _ledger(16, 4, 0)
    assert refused(ledger, quantization("iq2_xxs")) == ()
    # Of Q2_K it is asked in a Q2_K_S file alone.
    for name, expected in (("q2_k", False), ("q2_k_s", True)):
        assert bool(refused(ledger, replace(quantization(name), imatrix=False))) == expected


@pytest.mark.parametrize(("pp", "stage"), [(2, 1), (4, 3), (3, 0)])
def test_a_layer_keeps_its_type_on_whichever_device_it_stands(pp: int, stage: int) -> None:
    """Q4_K_M gives more bits by the layer's number in the model, not by that on the device."""
    whole = _ledger(48, 8, 0)
    policy = quantization("q4_k_m")
    known = {
        (one.name, layer): one.format.name
        for one in by_tensor(whole, policy) if one.in_layers for layer in one.layers
    }  # fmt: skip
    share = shard(whole, Parallel(pp=pp))[stage]
    found = [one for one in by_tensor(share, policy) if one.in_layers]
    first = 48 // pp * stage
    assert {layer for one in found for layer in one.layers} == set(range(first, first + 48 // pp))
    for one in found:
        assert {known[one.name, layer] for layer in one.layers} == {one.format.name}


def test_stages_hold_together_what_the_model_holds() -> None:
    whole, policy = _ledger(48, 8, 8), quantization("q3_k_m")
    shares = shard(whole, Parallel(pp=5))
    held = sum(sum(by_group(share, policy).values()) for share in shares)
    assert held == sum(by_group(whole, policy).values())


def test_a_type_is_chosen_by_the_whole_row_and_counted_by_the_share_of_it() -> None:
    """Rows of 512 are whole blocks of 256; halves of 256 rows keep the type."""
    whole, policy = _ledger(16, 4, 0), quantization("q6_k")
    (share,) = shard(whole, Parallel(tp=2))
    (down,) = (one for one in by_tensor(share, policy) if one.name == "ffn_down")
    assert down.format.name == "q6_k"
    assert down.bytes == 16 * 256 * 210


def test_a_device_without_some_operations_stores_the_others_as_ever() -> None:
    """As with experts on the host: what is left of a layer keeps its types and its layers."""
    whole, policy = _ledger(32, 4, 8), quantization("q4_k_m")
    without = whole._replace(
        sections=tuple(
            section._replace(
                operations=tuple(x for x in section.operations if "experts" not in x.name)
            )
            for section in whole.sections
        ),
        whole=whole,
    )
    left = [one for one in by_tensor(whole, policy) if "exps" not in one.name]
    assert left == list(by_tensor(without, policy))

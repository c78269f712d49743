"""`gpus`: which GPUs the catalog knows, and what they offer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmcalc.catalog.find import gpus as specs
from llmcalc.engines.capacity import Witness, capacity
from llmcalc.errors import InvalidFileError
from llmcalc.report.model import Column, Report, Table, Value
from llmcalc.spec.gpu import GpuSpec, Price

ASSUMPTIONS = {
    "memory": "memory as torch reports it, else as the driver does, else as marketed",
    "bf16_tflop_s": "rates are dense peaks",
    "usd_per_hour": "price is the lowest that carries a date",
}

_DATED = re.compile(r"20\d\d")

_COLUMNS = (
    Column(key="gpu", title="GPU"),
    Column(key="memory", title="memory", unit="bytes"),
    Column(key="marketed_gb", title="marketed GB", unit="rate"),
    Column(key="bandwidth_gb_s", title="GB/s", unit="rate"),
    Column(key="bf16_tflop_s", title="bf16 TFLOP/s", unit="rate"),
    Column(key="tdp_w", title="W", unit="rate"),
    Column(key="usd_per_hour", title="$/h", unit="usd"),
    Column(key="price_date", title="price of"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """One accelerator of the catalog."""

    gpu: str
    """Its name in the catalog."""
    title: str
    """Its name on the box."""
    aliases: tuple[str, ...]
    vendor: str
    kind: str
    """gpu, tpu, npu, apu or cpu."""
    memory: int
    """Bytes of one device to plan on."""
    memory_source: Witness
    """Who says so: torch, the driver, or only the box."""
    marketed_gb: float | None
    bandwidth_gb_s: float | None
    """Peak memory bandwidth, decimal gigabytes a second."""
    bf16_tflop_s: float | None
    """Dense peak with FP32 accumulate."""
    tdp_w: float | None
    usd_per_hour: float | None
    """The lowest price that carries a date."""
    price_provider: str | None
    price_date: str | None
    price_source: str | None
    assumptions: Mapping[str, str]
    basis: str
    """`published`: read in the sources that the spec names."""


def gpus(
    query: Sequence[str] = (),
    *,
    vendor: str | None = None,
    min_memory: int | None = None,
    kind: str | None = None,
) -> Report:
    """The GPUs whose name, title or aliases hold every word of `query`, largest memory first.

    `min_memory` is in bytes.
    """
    broken: list[InvalidFileError] = []
    known = specs(broken.append)
    found = [
        row
        for spec in known
        if _matches(spec, query, vendor, kind)
        for row in (_row(spec),)
        if row.memory >= (min_memory or 0)
    ]
    found.sort(key=lambda row: (-row.memory, row.gpu))
    return Report(
        command="gpus",
        results=tuple(found),
        tables=(Table(columns=_COLUMNS, rows=tuple(map(_cells, found))),),
        assumptions=tuple(ASSUMPTIONS.values()),
        warnings=(
            *(error.message for error in broken),
            *([] if found else [f"none of {len(known)} GPUs matches"]),
        ),
    )


def _matches(spec: GpuSpec, query: Sequence[str], vendor: str | None, kind: str | None) -> bool:
    names = " ".join((spec.name, spec.title, spec.vendor, *spec.aliases)).lower()
    return (
        all(word.lower() in names for word in query)
        and (vendor is None or vendor.lower() == spec.vendor.lower())
        and (kind is None or kind == spec.kind)
    )


def _cheapest(prices: Sequence[Price]) -> Price | None:
    dated = [price for price in prices if _DATED.match(price.date)]
    return min(dated, key=lambda price: price.usd_per_hour, default=None)


def _row(spec: GpuSpec) -> GpuRow:
    offered = capacity(spec)
    price = _cheapest(spec.prices)
    return GpuRow(
        gpu=spec.name,
        title=spec.title,
        aliases=spec.aliases,
        vendor=spec.vendor,
        kind=spec.kind,
        memory=offered.bytes,
        memory_source=offered.witness,
        marketed_gb=spec.memory.marketed_gb,
        bandwidth_gb_s=spec.memory.bandwidth_gb_s,
        bf16_tflop_s=spec.compute.bf16,
        tdp_w=spec.tdp_w,
        usd_per_hour=price.usd_per_hour if price else None,
        price_provider=price.provider if price else None,
        price_date=price.date if price else None,
        price_source=price.source if price else None,
        assumptions=ASSUMPTIONS,
        basis="published",
    )


def _cells(row: GpuRow) -> tuple[Value, ...]:
    return tuple(getattr(row, column.key) for column in _COLUMNS)

"""Our prediction for a row of llama.cpp's answers: only its settings are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmcalc.blueprint import lower
from llmcalc.catalog import find
from llmcalc.engines.cells import Held, Slots, held
from llmcalc.engines.graph_buffer import Build, compute_buffer, output_buffer
from llmcalc.engines.kv_format import ALIASES, KV_FORMATS, KvFormats

MIB = 1 << 20
EXPANDED = ("minicpm3",)
"""Architectures whose latent attention caches keys and values of each head."""

DEEPSTACK = ("qwen3vl", "qwen3vlmoe")
"""Architectures whose embeddings carry what three more layers are fed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What we say instead of the engine, in bytes."""

    held: Held
    compute: int
    output: int


def predicted(row: Mapping[str, str]) -> Predicted:
    """From the settings of a row alone."""
    ledger, flash = lower(find.card(row["model"])), row["flash_attn"] == "1"
    slots = Slots(
        n_ctx=int(row["n_ctx"]), n_parallel=int(row["n_parallel"]), n_batch=int(row["n_batch"]),
        n_ubatch=int(row["n_ubatch"]), kv_unified=row["kv_unified"] == "1",
    )  # fmt: skip
    keys, values = (
        KV_FORMATS[ALIASES.get(row[name], row[name])] for name in ("cache_type_k", "cache_type_v")
    )
    formats = KvFormats(keys=keys, values=values)
    build = Build(
        absorbed=row["arch"] not in EXPANDED, input_widths=4 if row["arch"] in DEEPSTACK else 1
    )
    return Predicted(
        held=held(ledger, slots, formats, absorbed=build.absorbed, flash=flash),
        compute=compute_buffer(ledger, slots, formats, flash=flash, build=build),
        output=output_buffer(ledger, slots),
    )


def cache_differences(row: Mapping[str, str]) -> list[str]:
    """Where we and the engine part on what is cached, beyond what it prints."""
    ours, found = predicted(row), []
    logged = [pool.split(":") for pool in row["kv_pools"].split(";") if pool]
    pools = [pool for pool in ours.held.pools if pool.bytes]
    if len(logged) != len(pools):
        found.append(f"{len(pools)} pools, engine {len(logged)}")
    for pool, (shape, keys, values) in zip(pools, logged, strict=False):
        cells, _, streams = shape.split("x")
        if (pool.cells, pool.streams) != (int(cells), int(streams)):
            found.append(f"{pool.cells} cells x {pool.streams}, engine {shape}")
        found += _unlike("keys", pool.keys, keys) + _unlike("values", pool.values, values)
    found += _unlike("state", ours.held.state, row["state_mib"] or "0")
    return found + _unlike("output", ours.output, row["output_buf_mib"])


def compute_error(row: Mapping[str, str]) -> float:
    """How far off the compute buffer is, relative to the engine's."""
    return predicted(row).compute / MIB / float(row["compute_buf_mib"]) - 1


def _unlike(name: str, ours: int, theirs: str) -> list[str]:
    """The engine prints hundredths of a MiB."""
    near = abs(ours / MIB - float(theirs)) <= 0.00501
    return [] if near else [f"{name} {ours / MIB:.3f}, engine {theirs}"]

"""What people see of `memory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmcalc.api.bands import basis_shown
from llmcalc.report.model import Column, Table

if TYPE_CHECKING:
    from llmcalc.api.memory_result import MemoryResult


def tables(result: MemoryResult, batch: int, seq: int) -> tuple[Table, ...]:
    """The parts, and how far the room goes."""
    rows = [(part.name, part.bytes, basis_shown(part)) for part in result.parts if part.bytes]
    where = f" on {result.gpus} × {result.gpu}" if result.gpu else ""
    parts = Table(
        title=f"{result.model}, {batch} × {seq:,} tokens{where}, each GPU",
        columns=(
            Column(key="part", title="part"),
            Column(key="bytes", title="size", unit="bytes"),
            Column(key="basis", title="basis"),
        ),
        rows=(*rows, ("total", result.per_gpu.total, result.basis)),
    )
    return (parts, *_room(result))


def _room(result: MemoryResult) -> tuple[Table, ...]:
    """How fast the cache grows, and how far the room goes where there is one."""
    sizes = [
        ("capacity", result.capacity),
        ("budget", result.budget),
        ("free", result.free),
        ("in host memory", result.host or None),
    ]
    counts: list[tuple[str, int | float | None]] = [
        ("bytes of cache a token", result.kv_bytes_per_token or None),
        ("bytes of state a sequence", result.state_bytes_per_sequence or None),
        ("tokens of cache", result.kv_tokens),
        (f"sequences of {result.max_model_len:,} at once", result.max_concurrency),
        ("largest batch at this sequence", result.max_batch),
        ("longest sequence at this batch", result.max_context),
    ]
    room = Table(
        columns=(Column(key="room", title="room"), Column(key="bytes", title="size", unit="bytes")),
        rows=tuple((name, size) for name, size in sizes if size is not None),
    )
    far = Table(
        columns=(
            Column(key="limit", title="limit"),
            Column(key="value", title="value", unit="rate"),
        ),
        rows=tuple((name, value) for name, value in counts if value is not None),
    )
    return (room, far) if room.rows else (far,)

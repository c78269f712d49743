"""How large is llama.cpp's compute buffer? Its graph of one micro-batch, laid out as ggml does.

The graph is built from operations alone, layer after layer, in the order llama.cpp computes it;
tests compare the peak with what the real engine logs for every architecture both know.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import (
    Cache,
    Gather,
    Ledger,
    Matmul,
    Operation,
    Scan,
    Section,
    State,
)
from llmcalc.engines.cells import F16, Slots, padded_values, slides
from llmcalc.engines.ggml_graph import ALIGNMENT, Graph
from llmcalc.engines.graph_attention import attention, turned_back
from llmcalc.engines.graph_families import attention_first, fused
from llmcalc.engines.graph_feedforward import feed_forward
from llmcalc.engines.graph_order import ahead, own_inputs, remembered, shortened
from llmcalc.engines.graph_pass import F32, Pass, parts
from llmcalc.engines.graph_recurrence import recurrence
from llmcalc.engines.kv_format import KvFormats


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What differs between versions and backends of llama.cpp."""

    mixed_input: bool = True
    """Whether a batch may mix tokens and embeddings, which keeps room for both (2026)."""
    input_widths: int = 1
    """Times hidden_size that an embedding given instead of a token has (Qwen3-VL: 4, its vision
    tower feeds the first three layers too)."""
    all_outputs: bool = False
    """Whether room is kept for logits of a whole micro-batch, as before 2026 and in llama-cli."""
    table_on_host: bool = False
    """Whether the token table is looked up on the host, as for every GPU: its rows come in."""
    cell_indexes: bool = True
    """Whether cells to write to are an input (since July 2025) or a place in the graph."""
    copies: int = 1
    """Of each input: 4 where several devices work as a pipeline."""
    alignment: int = ALIGNMENT
    absorbed: bool = True


CURRENT = Build()
"""Build 11549 (2026-10) on the CPU, where every recorded dry run comes from."""

GPU_BEFORE_2026 = Build(
    mixed_input=False, all_outputs=True, table_on_host=True, cell_indexes=False, alignment=128
)
"""CUDA logs of 2024 and 2025: 560.00, 312.75 and 633.50 MiB come out to the hundredth."""


def compute_buffer(
    ledger: Ledger,
    slots: Slots,
    formats: KvFormats = F16,
    *,
    flash: bool = True,
    build: Build = CURRENT,
) -> int:
    """Bytes of the compute buffer of one device that runs all layers."""
    return graph(ledger, slots, formats, flash=flash, build=build).peak(build.alignment)


def output_buffer(ledger: Ledger, slots: Slots) -> int:
    """Bytes of the logits that the host reads: a row a slot."""
    table = next(
        one.weights[0] for section in ledger.sections for one in section.operations
        if isinstance(one, Gather)
    )  # fmt: skip
    return F32 * table.shape[0] * slots.n_parallel


def graph(ledger: Ledger, slots: Slots, formats: KvFormats, *, flash: bool, build: Build) -> Graph:
    """All tensors of a micro-batch's way from token numbers to logits."""
    room = slots.cells * slots.streams
    sections = {section.name: section for section in ledger.sections}
    causal = any(
        isinstance(operation, (Cache, State))
        for section in ledger.sections for operation in section.operations
    )  # fmt: skip
    tokens = slots.tokens if causal else min(slots.n_ubatch, slots.n_batch, room)
    tokens = -(-tokens // slots.streams) * slots.streams
    one = Pass(
        graph=Graph(), slots=slots, formats=formats, flash=flash, tokens=tokens,
        sliding=slides(ledger), caching=causal, indexed=build.cell_indexes, copies=build.copies,
        fused=fused(ledger),
        attention_first=attention_first(ledger),
        padded_values=padded_values(ledger, flash=flash)[0],
    )  # fmt: skip
    x = embedded = _embedded(one, ledger, build)
    rows = tokens if build.all_outputs or not causal else slots.n_parallel
    order = ledger.order if own_inputs(ledger) else shortened(ledger.order)
    for number, name in enumerate(order, start=1):
        last = number == len(order)
        one.remembered = ahead(sections, order[number:])
        one.late = any(operation.name == "router" for operation in sections[name].operations)
        x = _layer(one, sections[name], x, rows if last else tokens, build)
        if number < build.input_widths:
            x = one.new(ledger.hidden_size, x, embedded, inplace=True)
    x = one.norm(x, ledger.hidden_size)
    if head := _head_width(ledger):
        one.new(head, x)
    return one.graph


def _head_width(ledger: Ledger) -> int:
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, Matmul) and operation.weight.component == "lm_head":
                return operation.width
    return 0


def _embedded(one: Pass, ledger: Ledger, build: Build) -> int:
    """Rows of the token table; embeddings given instead of tokens have room beside them."""
    d, number = ledger.hidden_size, F32 * one.tokens
    if build.table_on_host:
        return one.graph.input(d * number * build.copies)
    wide = d * build.input_widths
    x = one.new(d, one.graph.input(number))
    one.graph.input(wide * number)
    if build.mixed_input:
        looked_up = one.new(d, one.graph.input(number))
        x, looked_up = (one.new(wide, row) if wide > d else row for row in (x, looked_up))
        given = one.new(wide, one.graph.input(wide * number))
        one.graph.use(looked_up, one.graph.input(2 * number))
        del given  # a view of it is never used, so that it is never freed
    first = next(section for section in ledger.sections if section.kind == "first")
    tables = next(one for one in first.operations if isinstance(one, Gather)).weights
    if len(tables) > 1:
        x = one.new(d, x, one.new(d, one.positions()), inplace=True)
    if any(operation.name == "embed_norm" for operation in first.operations):
        x = one.norm(x, d)
    return x


def _layer(one: Pass, section: Section, x: int, rows: int, build: Build) -> int:
    """One layer; the last needs, after its mixer, only the tokens whose logits are wanted."""
    found = parts(section.operations)
    if (
        len(found) > 1
        and any(isinstance(o, Scan) for part in found for o in part)
        and (section.placement == "parallel")
    ):
        return _beside(one, section, found, x, rows, build)
    if section.placement == "parallel":
        return _parallel(one, section, found, x, rows, build)
    for part in found:
        normed = x if section.placement in ("output", "post") else one.norm(x, section.width)
        out = _projected(one, section, part, _part(one, part, normed, build))
        if rows != one.tokens:
            out, x = _chosen(one, section, rows, out, x)
        x = one.new(section.width, out, x, inplace=True)
        if section.placement == "post":
            x = one.norm(x, section.width)
    return x


def _parallel(
    one: Pass, section: Section, found: list[list[Operation]], x: int, rows: int, build: Build
) -> int:
    """All parts see the same input; what attention mixed waits until the others are done."""
    d, norms = section.width, sum(one.name.startswith("norm_") for one in section.operations)
    first = one.attention_first
    shared = one.norm(x, d) if norms == 1 else x
    waiting: list[tuple[list[Operation], int]] = []
    done = []
    for part in found:
        out = _part(one, part, shared if norms == 1 else one.norm(x, d), build)
        if any(operation.name == "attention" for operation in part) and not first:
            waiting.append((part, out))
            continue
        done.append(_projected(one, section, part, out))
    done += [_projected(one, section, part, out) for part, out in waiting]
    if rows != one.tokens:
        *done, x = _chosen(one, section, rows, *done, x)
    return _sum(one, d, (*done, x))


def _beside(
    one: Pass, section: Section, found: list[list[Operation]], x: int, rows: int, build: Build
) -> int:
    """Attention beside a scan: what it mixed is projected once the scan is under way."""
    d = section.width
    one.remembered = remembered(section)
    attended, scanned = sorted(found, key=lambda part: any(isinstance(o, Scan) for o in part))
    mixed = _part(one, attended, one.norm(x, d), build)
    one.waiting = (d, turned_back(one, attended, mixed))
    out = _projected(one, section, scanned, _part(one, scanned, one.norm(x, d), build))
    done: tuple[int, ...] = (one.waiting[1], out)
    one.waiting = None
    if rows != one.tokens:
        *done, x = _chosen(one, section, rows, *done, x)  # type: ignore[assignment]
    return _sum(one, d, (*done, x))


def _sum(one: Pass, d: int, terms: tuple[int, ...]) -> int:
    total = terms[0]
    for term in terms[1:]:
        total = one.new(d, total, term, inplace=True)
    return total


def _chosen(one: Pass, section: Section, rows: int, *tensors: int) -> tuple[int, ...]:
    """Only the tokens whose logits are wanted, from here on."""
    chosen = one.graph.input(4 * rows)
    one.tokens = rows
    return tuple(one.new(section.width, tensor, chosen) for tensor in tensors)


def _projected(one: Pass, section: Section, part: list[Operation], out: int) -> int:
    """The projection back to the residual stream; feed-forward parts end with theirs."""
    ends = any(operation.name in ("o", "out") for operation in part)
    return one.new(section.width, turned_back(one, part, out)) if ends else out


def _part(one: Pass, operations: list[Operation], x: int, build: Build) -> int:
    names = {operation.name for operation in operations}
    if any(isinstance(operation, Scan) for operation in operations):
        return recurrence(one, operations, x)
    if "attention" in names:
        return attention(one, operations, x, absorbed=build.absorbed)
    return feed_forward(one, operations, x)

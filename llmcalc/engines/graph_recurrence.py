"""The tensors of recurrent mixers in llama.cpp's graph: a short convolution and a scan."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import Convolution, Matmul, Operation, State
from llmcalc.engines.graph_pass import F32, Pass


def recurrence(one: Pass, operations: list[Operation], x: int) -> int:
    """What a recurrent part hands to its output projection."""
    found = Found(operations=operations)
    if found.width("f_a"):
        return _kimi(one, found, x)
    if found.width("in_qk"):
        return _deltanet(one, found, x)
    return _mamba(one, found, x)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Operations of one part; convolutions that stand side by side are one in llama.cpp."""

    operations: list[Operation]

    def width(self, name: str) -> int:
        """What a projection puts out, 0 where there is none."""
        for one in self.operations:
            if one.name == name and isinstance(one, Matmul):
                return one.width
        return 0

    def dims(self, name: str) -> dict[str, int]:
        """The sizes that a projection is made of."""
        return next(one.weight.dims for one in self.operations
                    if one.name == name and isinstance(one, Matmul))  # fmt: skip

    def state(self, name: str) -> int:
        """Elements of a state of one sequence."""
        return sum(
            one.elements for one in self.operations if isinstance(one, State) and one.name == name
        )

    @property
    def channels(self) -> int:
        """Channels convolved, all together."""
        return sum(one.weight.shape[0] for one in self.operations if isinstance(one, Convolution))

    @property
    def normed(self) -> bool:
        """Whether a norm follows the gate."""
        return any(one.name == "gated_norm" for one in self.operations)


def _rows(one: Pass, found: Found, x: int) -> int:
    """The channels of these tokens behind the inputs remembered; the last ones are stored."""
    remembered = found.state("conv_state")
    before = one.read(remembered)
    size = F32 * (remembered * one.slots.n_parallel + found.channels * one.tokens)
    rows = one.graph.op(size, before, x)
    one.graph.use(rows)
    return rows


def _convolved(one: Pass, found: Found, rows: int) -> int:
    """Each channel convolved and activated."""
    return one.new(found.channels, one.new(found.channels, rows), inplace=True)


def _mamba(one: Pass, found: Found, x: int) -> int:
    """Mamba's channels and Mamba-2's heads: what leads in stays until the gate is multiplied in."""
    inner, step = found.width("in_x"), found.width("in_dt")
    whole = one.new(found.width("in_z") + inner + found.width("in_BC") + step, x)
    conv = _convolved(one, found, _rows(one, found, whole))
    if step:
        more, dt = conv, one.new(step, whole)
    else:
        low = found.width("x")
        more = one.new(low, conv)
        dt = one.new(found.width("dt"), one.new(low, more))
    scanned = F32 * inner * one.tokens + F32 * found.state("state") * one.slots.n_parallel
    y = one.graph.op(scanned, conv, dt, more)
    others = F32 * found.state("state") * (one.slots.n_parallel - 1)
    one.graph.use(one.graph.op(others))
    one.graph.use(y)
    one.under_way()
    gate, kept = one.new(inner, whole), one.new(inner, conv)
    y = one.new(inner, gate, one.new(inner, y, kept, inplace=True))
    return one.norm(y, inner) if found.normed else y


def _deltanet(one: Pass, found: Found, x: int) -> int:
    """Queries, keys and values from one convolution; the scan puts out its state too."""
    dims = found.dims("in_qk")
    keys, values = dims["h_k"] * dims["d_k"], dims["h_v"] * dims["d_v"]
    whole = one.new(2 * keys + values, x)
    rows = _rows(one, found, whole)
    state = one.graph.op(F32 * found.state("state") * one.slots.n_parallel)
    conv = _convolved(one, found, rows)
    q, k = (one.norm(conv, keys) for _ in range(2))
    gates = one.new(2 * dims["h_v"], x)
    decay, beta = one.new(dims["h_v"], gates), one.new(dims["h_v"], gates)
    size = F32 * values * one.tokens + F32 * found.state("state") * one.slots.n_parallel
    out = one.graph.op(size, q, k, conv, decay, beta, state)
    one.graph.use(out)
    out = one.norm(out, values)
    z = one.new(values, x)
    return one.new(values, out, one.new(values, z), inplace=True)


def _kimi(one: Pass, found: Found, x: int) -> int:
    """Three convolutions, a decay for each channel, and a gate from a low rank."""
    inner = found.width("q")
    mixed = []
    for name in ("q", "k", "v"):
        remembered = F32 * found.state("conv_state") * one.slots.n_parallel // 3
        rows = one.graph.op(remembered + F32 * inner * one.tokens, one.new(found.width(name), x))
        one.graph.use(rows)
        mixed.append(rows)
    state = one.graph.op(F32 * found.state("state") * one.slots.n_parallel)
    convolved = [one.new(inner, one.new(inner, rows)) for rows in mixed]
    q, k = (one.new(inner, y) for y in convolved[:2])
    decay = one.new(inner, one.new(inner, one.new(found.width("f_a"), x)))
    beta = one.new(found.width("b"), x)
    size = F32 * inner * one.tokens + F32 * found.state("state") * one.slots.n_parallel
    out = one.graph.op(size, q, k, convolved[2], decay, beta, state)
    one.graph.use(out)
    out = one.norm(one.new(inner, out), inner)
    gate = one.new(inner, one.new(found.width("g_a"), x))
    return one.new(inner, one.new(inner, out, gate, inplace=True))

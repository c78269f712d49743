"""RWKV-4 (arXiv:2305.13048): a weighted average of the past with a learned decay a channel."""

from __future__ import annotations

from llmcalc.blueprint.context import Context
from llmcalc.blueprint.operations import Matmul, Operation, State
from llmcalc.blueprint.recurrence import project_in, project_out, vectors
from llmcalc.blueprint.weight import weight
from llmcalc.spec.recurrent import RwkvChannel, RwkvTime


def lower_rwkv_time(part: RwkvTime, context: Context) -> tuple[Operation, ...]:
    """Time mixing; it remembers the last token, a sum, a weight and a maximum for each channel."""
    d = context.hidden_size
    a = part.attention_hidden_size or d
    dims = {"d": d, "a": a}
    return (
        *vectors(dims, a, time_decay="a", time_first="a"),
        *vectors(dims, None, time_mix_key="d", time_mix_value="d", time_mix_receptance="d"),
        *(project_in(name, "a", dims, a) for name in ("key", "value", "receptance")),
        State(name="state", text="3·a + d", dims=dims, elements=3 * a + d, units=None),
        project_out("a", dims, a),
    )


def lower_rwkv_channel(part: RwkvChannel, context: Context) -> tuple[Operation, ...]:
    """Channel mixing; it remembers the last token."""
    d, d_ff = context.hidden_size, part.intermediate_size
    dims = {"d": d, "d_ff": d_ff}
    return (
        *vectors(dims, None, time_mix_key="d", time_mix_receptance="d"),
        Matmul(name="channel.key", weight=weight("key_proj", "d_ff, d", dims, "mlp", units=d_ff)),
        Matmul(name="channel.receptance", weight=weight("receptance_proj", "d, d", dims, "mlp")),
        State(name="state", text="d", dims=dims, elements=d, units=None),
        Matmul(
            name="channel.value",
            weight=weight("value_proj", "d, d_ff", dims, "mlp", units=d_ff, axis=1),
            to_residual=True,
        ),
    )

"""What does an optimizer remember? Bytes of its states, tensor by tensor."""

from __future__ import annotations

from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import Tensor
from llmcalc.formula import formula
from llmcalc.spec.optimizer import Optimizer
from llmcalc.spec.recipe import Recipe

WIDE = 4
"""Bytes of a float32 number."""


@formula("moments · N · bytes", source="one number a moment and parameter", unit="bytes")
def moment_bytes(*, moments: int, N: int, bytes: int) -> int:  # noqa: N803  the field's symbol
    """Bytes of moments as large as their tensor."""
    return moments * N * bytes


@formula(
    "moments · (N + 4 · ceil(N / block))",
    source="Dettmers et al., arXiv:2110.02861: 8-bit states, a float32 maximum a block",
    unit="bytes",
)
def blockwise_bytes(*, moments: int, N: int, block: int) -> int:  # noqa: N803
    """Bytes of moments in 8 bits."""
    return moments * (N + 4 * -(-N // block))


@formula(
    "matrices · (rows + columns) · 4",
    source="Shazeer and Stern, arXiv:1804.04235, section 3: sums of each row and each column",
    unit="bytes",
)
def factored_bytes(*, matrices: int, rows: int, columns: int) -> int:
    """Bytes of a factored second moment."""
    return matrices * (rows + columns) * 4


@formula(
    "(moments · r · long + r · short) · bytes",
    source="GaLore, arXiv:2403.03507, table 1, where r is below both sides",
    unit="bytes",
)
def projected_bytes(*, moments: int, r: int, long: int, short: int, bytes: int) -> int:
    """Bytes of moments of a projected gradient, and of the projection."""
    return (moments * r * long + r * short) * bytes


def states_of(tensor: Tensor, plan: Plan) -> int:
    """Bytes of the states of one tensor under a plan."""
    wide = plan.framework.wide_table_states
    return state_bytes(tensor, plan.optimizer, plan.recipe, wide_tables=wide)


def state_bytes(
    tensor: Tensor, optimizer: Optimizer, recipe: Recipe, *, wide_tables: bool = False
) -> int:
    """Bytes of the states of one tensor; those of tables may be in 32 bits among 8-bit ones."""
    size, moments = tensor.numel, optimizer.moments
    if tensor.matrix and optimizer.matrix_moments is not None:
        moments = optimizer.matrix_moments
    if optimizer.factored and len(tensor.shape) > 1:
        *_, rows, columns = tensor.shape
        return _int(factored_bytes(matrices=size // (rows * columns), rows=rows, columns=columns))
    narrow = size >= optimizer.smallest and not (wide_tables and tensor.table)
    if optimizer.block and narrow:
        return _int(blockwise_bytes(moments=moments, N=size, block=optimizer.block))
    if optimizer.rank and tensor.matrix:
        *_, rows, columns = tensor.shape
        short, long = sorted((rows, columns))
        if optimizer.rank < short:
            each = projected_bytes(
                moments=moments, r=optimizer.rank, long=long, short=short, bytes=recipe.moment
            )
            return _int(each) * (size // (rows * columns))
    wide = optimizer.block or optimizer.factored or optimizer.wide
    width = WIDE if wide else recipe.moment
    return _int(moment_bytes(moments=moments, N=size, bytes=width))


def _int(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101  decorated functions are untyped
    return value

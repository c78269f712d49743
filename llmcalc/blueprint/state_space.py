"""State-space mixers: Mamba (arXiv:2312.00752) and Mamba-2 (arXiv:2405.21060)."""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import Matmul, Operation
from llmcalc.blueprint.recurrence import convolution, project_in, project_out, scan, vectors
from llmcalc.blueprint.weight import weight
from llmcalc.spec.recurrent import Mamba1, Mamba2


def lower_mamba1(part: Mamba1, context: Context) -> tuple[Operation, ...]:
    """A gated branch and one that convolves and scans, each channel with a state of its own."""
    d_i = part.intermediate_size
    dims = {"d": context.hidden_size, "d_i": d_i, "N": part.state_size, "r": part.dt_rank}
    dims |= {"k": part.conv_kernel}
    step = weight("dt_proj", "d_i, r", dims, "ssm", units=d_i)
    step_bias = weight("dt_proj.bias", "d_i", dims, "ssm", "bias", units=d_i)
    inner = (("dt_norm", "r"), ("B_norm", "N"), ("C_norm", "N")) if part.inner_norms else ()
    return (
        project_in("in_x", "d_i", dims, d_i, bias=part.bias),
        project_in("in_z", "d_i", dims, d_i, bias=part.bias),
        *convolution("d_i", dims, d_i, bias=part.conv_bias),
        Matmul(
            name="x", weight=weight("x_proj", "r + 2·N, d_i", dims, "ssm", units=d_i, axis=1)
        ),
        *(norm(name, text, dims, "rms") for name, text in inner),
        Matmul(name="dt", weight=step, bias=step_bias),
        *vectors(dims, d_i, A_log="d_i, N", D="d_i"),
        *scan(part.kind, "2·d_i·N", "d_i·N", dims, d_i),
        project_out("d_i", dims, d_i, bias=part.bias),
    )  # fmt: skip


def lower_mamba2(part: Mamba2, context: Context) -> tuple[Operation, ...]:
    """Heads of p channels with one decay each; groups of heads share B and C."""
    h, groups = part.num_heads, part.n_groups
    dims = {"d": context.hidden_size, "h": h, "p": part.head_dim, "G": groups}
    dims |= {"N": part.state_size, "k": part.conv_kernel}
    return (
        project_in("in_z", "h·p", dims, h, bias=part.bias),
        project_in("in_x", "h·p", dims, h, bias=part.bias),
        project_in("in_BC", "2·G·N", dims, groups, bias=part.bias),
        project_in("in_dt", "h", dims, h, bias=part.bias),
        *convolution("h·p", dims, h, bias=part.conv_bias),
        *convolution("2·G·N", dims, groups, bias=part.conv_bias),
        *vectors(dims, h, dt_bias="h", A_log="h", D="h"),
        *scan(part.kind, "2·h·p·N", "h·p·N", dims, h, wide=part.state_dtype == "fp32"),
        *((norm("gated_norm", "h·p", dims, "rms"),) if part.gated_norm else ()),
        project_out("h·p", dims, h, bias=part.bias),
    )

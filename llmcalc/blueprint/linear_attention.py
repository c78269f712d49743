"""Linear attention: heads whose keys and values are summed up in a matrix instead of kept."""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import Matmul, Operation
from llmcalc.blueprint.recurrence import convolution, project_in, project_out, scan, vectors
from llmcalc.blueprint.weight import weight
from llmcalc.spec.recurrent import GatedDeltaNet, KimiDelta, Lightning


def lower_gated_deltanet(part: GatedDeltaNet, context: Context) -> tuple[Operation, ...]:
    """The gated delta rule: read the state by key, write the difference, read it by query."""
    h_k, h_v = part.num_k_heads, part.num_v_heads
    dims = {"d": context.hidden_size, "h_k": h_k, "h_v": h_v, "k": part.conv_kernel}
    dims |= {"d_k": part.head_k_dim, "d_v": part.head_v_dim}
    return (
        project_in("in_qk", "2·h_k·d_k", dims, h_k),
        project_in("in_v", "h_v·d_v", dims, h_v),
        project_in("in_z", "h_v·d_v", dims, h_v),
        project_in("in_ba", "2·h_v", dims, h_v),
        *convolution("2·h_k·d_k + h_v·d_v", dims, h_k, bias=False),
        *vectors(dims, h_v, dt_bias="h_v", A_log="h_v"),
        *scan(
            part.kind, "3·h_v·d_k·d_v", "h_v·d_k·d_v", dims, h_v, wide=part.state_dtype == "fp32"
        ),
        norm("gated_norm", "d_v", dims, "rms"),
        project_out("h_v·d_v", dims, h_v),
    )


def lower_kimi_delta(part: KimiDelta, context: Context) -> tuple[Operation, ...]:
    """The delta rule with a decay for each channel, from a low-rank projection."""
    h = part.num_heads
    dims = {"d": context.hidden_size, "h": h, "d_h": part.head_dim, "k": part.conv_kernel}
    return (
        *(project_in(name, "h·d_h", dims, h) for name in ("q", "k", "v")),
        *convolution("3·h·d_h", dims, h, bias=False),
        project_in("f_a", "d_h", dims, None),
        Matmul(name="f_b", weight=weight("f_b_proj", "h·d_h, d_h", dims, "ssm", units=h)),
        *vectors(dims, h, dt_bias="h·d_h", A_log="h"),
        project_in("b", "h", dims, h),
        *scan(part.kind, "3·h·d_h·d_h", "h·d_h·d_h", dims, h),
        project_in("g_a", "d_h", dims, None),
        Matmul(name="g_b", weight=weight("g_b_proj", "h·d_h, d_h", dims, "ssm", units=h)),
        norm("gated_norm", "d_h", dims, "rms"),
        project_out("h·d_h", dims, h),
    )


def lower_lightning(part: Lightning, context: Context) -> tuple[Operation, ...]:
    """Keys and values summed up with a fixed decay a head, normed and gated."""
    h = part.num_heads
    dims = {"d": context.hidden_size, "h": h, "d_h": part.head_dim}
    return (
        project_in("qkv", "3·h·d_h", dims, h),
        *scan(part.kind, "2·h·d_h·d_h", "h·d_h·d_h", dims, h),
        norm("mixed_norm", "h·d_h", dims, "rms"),
        project_in("gate", "h·d_h", dims, h)._replace(name="output_gate"),
        project_out("h·d_h", dims, h),
    )

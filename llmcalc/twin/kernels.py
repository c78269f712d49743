"""The attention product, computed in the ways that people run it."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor

from llmcalc.twin.setting import Kernel


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    kernel: Kernel,
    mask: Tensor | None = None,
    causal: bool = True,
    sinks: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """[b, h, s_q, d_qk] on [b, h_kv, s_k, d_qk] and [b, h_kv, s_k, d_v]: [b, s_q, h·d_v].

    `mask` is true where a query may look, None where `causal` says it all. Sinks and biases have no
    flash kernel in plain torch, so they are computed eagerly.
    """
    if kernel == "eager" or sinks is not None or bias is not None:
        seen = mask if mask is not None or not causal else _triangle(q, k)
        return _eager(q, k, v, seen, sinks, bias, scale or q.shape[-1] ** -0.5)
    if kernel == "grouped" and q.shape[2] == 1 and mask is None:
        return _grouped(q, k, v, scale or q.shape[-1] ** -0.5)
    if q.is_meta:
        return _flash_on_meta(q, k, v, causal=causal, scale=scale)
    mixed = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal and mask is None and q.shape[2] > 1,
        enable_gqa=True, scale=scale,
    )  # fmt: skip
    return _joined(mixed)


def _flash_on_meta(q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None) -> Tensor:
    """Fused operators by their names; torch would take the math path for tensors without data.

    Values narrower than keys, as latent attention has them, have only the memory-efficient one.
    """
    causal = causal and q.shape[2] > 1
    if v.shape[-1] == q.shape[-1]:
        flash = torch.ops.aten._scaled_dot_product_flash_attention  # noqa: SLF001  its only name
        # On meta the output is laid out as q; on a GPU always token by token, which joins for free.
        q = q.transpose(1, 2).contiguous().transpose(1, 2)
        return _joined(flash(q, k, v, 0.0, causal, scale=scale)[0])
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, dim=1) if groups > 1 else x for x in (k, v))
    efficient = torch.ops.aten._scaled_dot_product_efficient_attention  # noqa: SLF001
    return _joined(efficient(q, k, v, None, True, 0.0, causal, scale=scale)[0])


def _eager(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    sinks: Tensor | None,
    bias: Tensor | None,
    scale: float,
) -> Tensor:
    """Scores for every pair of tokens, their softmax in float32, and the weighted values."""
    groups = q.shape[1] // k.shape[1]
    k, v = _repeated(k, groups), _repeated(v, groups)
    scores = torch.matmul(q, k.transpose(2, 3)) * scale
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, -torch.inf)
    if sinks is not None:
        drain = sinks.view(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)
        scores = torch.cat((scores, drain), dim=-1)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    if sinks is not None:
        weights = weights[..., :-1]
    return _joined(torch.matmul(weights, v))


def _grouped(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """One query a head; the heads that share keys are the rows of one product."""
    rows = q.reshape(q.shape[0], k.shape[1], -1, q.shape[-1])
    scores = torch.matmul(rows, k.transpose(2, 3)) * scale
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v).flatten(1)[:, None]


def _triangle(q: Tensor, k: Tensor) -> Tensor:
    """True where a query may look: at itself and what came before."""
    pairs = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    return pairs.tril(k.shape[2] - q.shape[2])


def _repeated(x: Tensor, groups: int) -> Tensor:
    """Each key or value head once a query head that uses it."""
    if groups == 1:
        return x
    b, h, s, d = x.shape
    return x[:, :, None].expand(b, h, groups, s, d).reshape(b, h * groups, s, d)


def _joined(heads: Tensor) -> Tensor:
    """[b, h, s, d] as [b, s, h·d]."""
    return heads.transpose(1, 2).flatten(2)

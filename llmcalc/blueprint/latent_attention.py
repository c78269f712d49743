"""Multi-head latent attention (arXiv:2405.04434, section 2.1).

Keys and values come from one latent of r_kv + d_r numbers a token, and only that is cached. A
prefill expands it to heads; a decoding engine instead absorbs W_UK and W_UV into queries and
outputs, so that it attends over the latent itself: the same weights and matmul FLOPs, wider heads.
"""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import AttentionProduct, Cache, Matmul, Operation
from llmcalc.blueprint.weight import weight
from llmcalc.spec.parts import LatentAttention


def lower_latent_attention(part: LatentAttention, context: Context) -> tuple[Operation, ...]:
    """The operations of one MLA part."""
    dims = _dims(part, context.hidden_size)
    h, r_kv, d_r = part.num_heads, part.kv_lora_rank, part.qk_rope_head_dim
    expanded = (part.qk_nope_head_dim + d_r, part.v_head_dim)
    qk_dim, v_dim = (r_kv + d_r, r_kv) if context.absorbed else expanded
    return (
        *_queries(part, dims),
        Matmul(name="kv_a", weight=weight("kv_a_proj", "r_kv + d_r, d", dims, "attention")),
        norm("kv_a_norm", "r_kv", dims, "rms"),
        Matmul(
            name="kv_b",
            weight=weight("kv_b_proj", "h·(d_n + d_v), r_kv", dims, "attention", units=h),
        ),
        Cache(
            name="latent", text="r_kv + d_r", dims=dims, elements=r_kv + d_r, units=None,
            keys=r_kv + d_r,
        ),
        *_indexer(part, dims),
        AttentionProduct(
            name="attention",
            heads=h,
            qk_dim=qk_dim,
            v_dim=v_dim,
            window=part.indexer.topk if part.indexer else None,
        ),
        Matmul(
            name="o",
            weight=weight("o_proj", "d, h·d_v", dims, "attention", units=h, axis=1),
            to_residual=True,
        ),
    )  # fmt: skip


def _indexer(part: LatentAttention, dims: dict[str, int]) -> tuple[Operation, ...]:
    """Scores of every earlier token by a few narrow heads; attention then sees the best `topk`.

    A query of the indexer comes from the latent of the queries, or from x where there is none.
    """
    if part.indexer is None:
        return ()
    h_i, d_i = part.indexer.num_heads, part.indexer.head_dim
    dims = dims | {"h_i": h_i, "d_i": d_i}
    source = "r_q" if part.q_lora_rank else "d"
    return (
        _unlearned("index_q", "indexer.q_proj", f"h_i·d_i, {source}", dims),
        _unlearned("index_k", "indexer.k_proj", "d_i, d", dims),
        norm("indexer.k_norm", "d_i", dims, "layer"),
        _unlearned("index_weights", "indexer.weights_proj", "h_i, d", dims),
        Cache(
            name="index_keys", text="d_i", dims=dims, elements=d_i, units=None, keys=d_i,
            indexes=True,
        ),
        AttentionProduct(name="index_scores", heads=h_i, qk_dim=d_i, v_dim=0, backward=False),
    )  # fmt: skip


def _unlearned(name: str, tensor: str, text: str, dims: dict[str, int]) -> Matmul:
    """A projection that learns from a loss of its own."""
    return Matmul(name=name, weight=weight(tensor, text, dims, "attention"), backward=False)


def _queries(part: LatentAttention, dims: dict[str, int]) -> tuple[Operation, ...]:
    if part.q_lora_rank is None:
        full = weight("q_proj", "h·(d_n + d_r), d", dims, "attention", units=part.num_heads)
        return (Matmul(name="q", weight=full),)
    up = weight("q_b_proj", "h·(d_n + d_r), r_q", dims, "attention", units=part.num_heads)
    return (
        Matmul(name="q_a", weight=weight("q_a_proj", "r_q, d", dims, "attention")),
        norm("q_a_norm", "r_q", dims, "rms"),
        Matmul(name="q_b", weight=up),
    )


def _dims(part: LatentAttention, hidden_size: int) -> dict[str, int]:
    return {
        "d": hidden_size,
        "h": part.num_heads,
        "r_q": part.q_lora_rank or 0,
        "r_kv": part.kv_lora_rank,
        "d_n": part.qk_nope_head_dim,
        "d_r": part.qk_rope_head_dim,
        "d_v": part.v_head_dim,
    }

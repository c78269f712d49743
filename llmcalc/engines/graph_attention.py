"""The tensors of attention in llama.cpp's graph, plain and latent, with and without flash."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import AttentionProduct, Cache, Matmul, Operation
from llmcalc.engines.graph_pass import F16, F32, INDEX, Pass


@dataclass(frozen=True, slots=True)
class Found:
    """Operations of one part by name."""

    by_name: dict[str, Operation]

    def width(self, name: str) -> int:
        """What a projection puts out, 0 where there is none."""
        one = self.by_name.get(name)
        return one.width if isinstance(one, Matmul) else 0


def attention(one: Pass, operations: list[Operation], x: int, *, absorbed: bool) -> int:
    """What one attention part hands to its output projection."""
    found = Found({operation.name: operation for operation in operations})
    product = found.by_name["attention"]
    if not isinstance(product, AttentionProduct):
        raise TypeError(product)
    cache = found.by_name.get("latent")
    if not isinstance(cache, Cache):
        return _plain(one, found, product, x)
    if absorbed:
        return _latent(one, found, product, cache, x)
    return _expanded(one, found, product, x)


def _plain(one: Pass, found: Found, product: AttentionProduct, x: int) -> int:
    d_q, d_v = product.heads * product.qk_dim, product.heads * product.v_dim
    gate, k, v = found.width("output_gate"), found.width("k"), found.width("v")
    whole = one.new(d_q + (k + v if one.fused else gate), x)
    q = _positioned(one, found, product, whole, d_q, "q")
    q = _rotated(one, q, d_q, product, keys=True)
    stored: tuple[int, ...] = ()
    if k:
        value = whole if one.fused else one.new(v, x) if v else -1
        key = whole if one.fused else one.new(k, x)
        value = one.new(k, key) if value < 0 else value
        key = _positioned(one, found, product, key, k, "k")
        value = _rotated(one, value, v or k, product, keys=False)
        key = _rotated(one, key, k, product, keys=True)
        stored = _stored(one, product, (key, k), (value, v or k))
    mixed = scores(one, product, q, stored, d_v)
    return one.new(d_v, one.new(d_v, whole), mixed, inplace=True) if gate else mixed


def turned_back(one: Pass, operations: list[Operation], mixed: int) -> int:
    """What values in blocks became is turned back before the output projection."""
    for product in operations:
        if isinstance(product, AttentionProduct) and product.name == "attention":
            plain = any(operation.name == "k" for operation in operations)
            width = product.heads * product.v_dim
            return _rotated(one, mixed, width, product, keys=False) if plain else mixed
    return mixed


def _positioned(
    one: Pass, found: Found, product: AttentionProduct, x: int, width: int, name: str
) -> int:
    """Norm of a head where there is one, then the rotary positions: the first makes a copy."""
    normed = f"{name}_norm" in found.by_name
    if normed:
        x = one.norm(x, width)
    return one.new(width, x, one.positions(), inplace=normed) if product.rotated else x


def _rotated(one: Pass, x: int, width: int, product: AttentionProduct, *, keys: bool) -> int:
    """A cache in blocks of few bits is rotated, so that outliers spread over the block."""
    format = one.formats.keys if keys else one.formats.values
    head = product.qk_dim if keys else product.v_dim
    if format.block == 1 or not one.caching or head % LEAST_ROTATION:
        return x
    pool = bool(product.window and one.sliding)
    size = rotation_size(head) if keys else LEAST_ROTATION
    return one.new(width, x, one.rotation(f"{keys} rotation {pool}", size))


LEAST_ROTATION = 64


def rotation_size(head: int) -> int:
    """The largest power of two, from 64, that divides a head; values are rotated in 64s."""
    size = LEAST_ROTATION
    while head % (2 * size) == 0:
        size *= 2
    return size


def _stored(
    one: Pass, product: AttentionProduct, key: tuple[int, int], value: tuple[int, int]
) -> tuple[int, ...]:
    """Keys and values, each with its width, go to their cells.

    An encoder has no cells: it casts them for the flash kernel, or transposes the values.
    """
    (k, d_k), (v, d_v) = key, value
    if not one.caching:
        if one.flash:
            half = F16 * one.tokens
            return one.graph.op(half * d_k, k), one.graph.op(half * d_v, v)
        return k, one.new(d_v, v)
    pool = f"{bool(product.window and one.sliding)}"
    one.graph.use(k, one.shared(f"k cells {pool}", INDEX * one.tokens))
    if one.padded_values > d_v:
        d_v = one.padded_values
        v = one.new(d_v, v)
    if not one.indexed:
        one.graph.use(v)
        return ()
    each = 1 if one.flash else d_v
    one.graph.use(v, one.shared(f"v cells {pool} {each}", INDEX * one.tokens * each))
    return ()


def scores(
    one: Pass, product: AttentionProduct, q: int, looked_at: tuple[int, ...], d_v: int
) -> int:
    """Queries times keys, and the weights of that times values."""
    mask = one.mask(product.window)
    if one.flash:
        mixed = one.new(d_v, q, mask, *looked_at)
    else:
        cells = one.cells(product.window)
        kq = one.new(product.heads * cells, q, *looked_at[:1])
        kq = one.new(product.heads * cells, kq, mask, inplace=True)
        mixed = one.new(d_v, one.new(d_v, kq, *looked_at[1:]))
    one.under_way()
    return mixed


def _queries(one: Pass, found: Found, x: int) -> tuple[int, int]:
    """Queries, and what they come from: a latent of their own, or x."""
    if width := found.width("q"):
        return one.new(width, x), x
    low = one.new(found.width("q_a"), x)
    low = one.new(found.width("q_a"), low, inplace=True)
    return one.new(found.width("q_b"), low), low


def _latent(one: Pass, found: Found, product: AttentionProduct, cache: Cache, x: int) -> int:
    """Queries are taken into the latent's space, which is keys and values at once."""
    h, d_r, r = product.heads, cache.dims["d_r"], cache.dims["r_kv"]
    _index_keys(one, found, x)
    q, low = _queries(one, found, x)
    inside = one.new(h * r, q)
    turned = one.new(h * d_r, q, one.positions())
    q = one.new(h * (r + d_r), inside, turned)
    both = one.new(r + d_r, x)
    latent = one.norm(both, r)
    turned = one.new(d_r, both, one.positions())
    key = one.new(r + d_r, latent, turned)
    one.graph.use(key, one.shared("k cells False", INDEX * one.tokens))
    mask = _chosen(one, found, x, low) if found.width("index_q") else one.mask(None)
    if one.flash:
        mixed = one.new(h * r, q, mask)
    else:
        turned = one.graph.op(F16 * r * one.cells(None) * one.slots.streams)
        kq = one.new(h * one.cells(None), q)
        kq = one.new(h * one.cells(None), kq, mask, inplace=True)
        mixed = one.new(h * r, turned, kq)
    d_v = h * cache.dims["d_v"]
    mixed = one.new(d_v, one.new(d_v, mixed))
    one.under_way()
    return mixed


def _index_keys(one: Pass, found: Found, x: int) -> None:
    """Keys of the indexer: normed, turned, rotated, cached."""
    if d_i := found.width("index_k"):
        key = one.norm(one.new(d_i, x), d_i)
        key = one.new(d_i, one.new(d_i, key, one.positions()), one.rotation("index_rot", d_i))
        one.graph.use(key, one.shared("index cells", INDEX * one.tokens))


def _chosen(one: Pass, found: Found, x: int, low: int) -> int:
    """A mask of the tokens that the indexer picks; each layer has an input of its own for it."""
    scored = found.by_name["index_scores"]
    product = found.by_name["attention"]
    if not isinstance(scored, AttentionProduct) or not isinstance(product, AttentionProduct):
        raise TypeError(scored)
    width, heads, mask = found.width("index_q"), scored.heads, one.mask(None)
    size, picked = one.graph.sizes[mask], min(product.window or 0, one.cells(None))
    nothing = one.new(picked, one.graph.input(F32 * picked * one.tokens))
    q = one.new(width, one.new(width, low), one.positions())
    q = one.new(width, q, one.rotation("index_rot", scored.qk_dim))
    seen = one.shared("index mask", size)
    score = one.new(one.cells(None), q, one.new(heads, one.new(heads, x)), seen)
    top = one.new(picked, one.new(picked, score))
    hidden = one.graph.op(size, mask)
    one.graph.use(nothing, top)
    return one.graph.op(size, hidden, mask)


def _expanded(one: Pass, found: Found, product: AttentionProduct, x: int) -> int:
    """Keys and values of each head are made from the latent, and cached."""
    h, d_q, d_v = product.heads, product.heads * product.qk_dim, product.heads * product.v_dim
    q, _ = _queries(one, found, x)
    q = one.new(d_q, q, one.positions())
    both = one.new(found.width("kv_a"), x)
    latent = one.norm(both, found.width("kv_a"))
    expanded = one.new(found.width("kv_b"), latent)
    value = one.new(d_v, expanded)
    turned = one.new(d_q // h, both, one.positions())
    key = one.new(d_q, expanded, one.new(d_q - d_v, turned))
    return scores(one, product, q, _stored(one, product, (key, d_q), (value, d_v)), d_v)

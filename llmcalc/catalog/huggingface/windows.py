"""Models whose sliding layers differ from the others in more than the window."""

from __future__ import annotations

from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.parts import (
    FULL,
    SLIDING,
    Body,
    attention,
    biased,
    block,
    body,
    layer_types,
    mlp,
    moe,
    sliding_window,
    windowed,
)


def exaone4(c: Config) -> Body:
    """Norms behind the parts and over each head; layers that see all do not rotate."""
    count, window = c.layer_count(), c.length("sliding_window")
    if c.value("layer_types") is not None:
        c.value("sliding_window_pattern")
        types = layer_types(c, [])
    elif window is None:
        raise c.wrong("layer_types", "since without windows the class has no rule for it")
    else:
        period = c.size("sliding_window_pattern")
        types = [SLIDING if (i + 1) % period else FULL for i in range(count)]
    turns = None if window is None else 0
    local, world = (
        block(attention(c, qk_norm="head", **one), mlp(c), placement="output")
        for one in ({"window": sliding_window(c, types)}, {"rotary_dim": turns})
    )
    return windowed(c, types, local, world)


def dots1(c: Config) -> Body:
    """A norm over each head, dense layers first, windows from max_window_layers on."""
    window, last = c.length("sliding_window"), c.count("max_window_layers")
    count, first = c.layer_count(), c.count("first_k_dense_replace")
    derived = [SLIDING if window and i >= last else FULL for i in range(count)]
    types = layer_types(c, derived)
    size = c.size("moe_intermediate_size")
    shared = size * c.size("n_shared_experts")
    more = {"shared_intermediate_size": shared, "correction_bias": True}
    top_k = c.size("num_experts_per_tok")
    feeds = {"dense": mlp(c), "moe": moe(c, c.size("n_routed_experts"), top_k, size, **more)}
    reach = {SLIDING: sliding_window(c, types), FULL: None}
    names, blocks = [], {}
    for i, kind in enumerate(types):
        feed = "moe" if i >= first else "dense"
        name = f"{feed}_local" if kind == SLIDING else feed
        part = attention(c, qk_norm="head", window=reach[kind], **biased(c))
        blocks[name] = block(part, feeds[feed])
        names.append(name)
    return body(c, names, blocks)

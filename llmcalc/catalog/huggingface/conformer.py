"""The conformer that Gemma hears with (arXiv:2303.01037): attention, convolution, MLPs."""

from __future__ import annotations

from llmcalc.catalog.huggingface.classes import tensor
from llmcalc.catalog.huggingface.config import Config
from llmcalc.catalog.huggingface.towers import Stack, Tensors
from llmcalc.spec.pattern import LONGEST


def conformer(
    a: Config, sizes: tuple[int, int, int], channels: tuple[int, int], extra: Tensors
) -> Stack:
    """Two convolutions that halve time and frequency, then layers of nine norms each.

    `sizes` are the layers, their heads and the length of their convolution.
    """
    width, (depth, heads, kernel) = a.size("hidden_size"), sizes
    if width % heads or depth > LONGEST:
        raise a.bad(f"hidden_size {width} with {heads} attention heads in {depth} layers")
    a.fixed("hidden_act", only="silu")
    feed = {"mlp": {"intermediate_size": 4 * width, "gated": False}}
    first, second = channels
    one = {
        "norms": 9,
        "placement": "sandwich",
        "parts": [feed, {"attn": {"num_heads": heads}}, feed],
        "extra": [
            tensor("attention.per_dim_scale", width // heads),
            tensor("attention.relative_k_proj", width, width),
            tensor("lconv1d.linear_start", 2 * width, width),
            tensor("lconv1d.depthwise_conv1d", width, 1, kernel),
            tensor("lconv1d.linear_end", width, width),
        ],
    }
    start = [
        tensor("subsample.conv_0", first, 1, 3, 3),
        tensor("subsample.norm_0", first),
        tensor("subsample.conv_1", second, first, 3, 3),
        tensor("subsample.norm_1", second),
        tensor("subsample.input_proj", width, first // 4 * second),
    ]
    layers = {"blocks": {"conformer": one}, "layers": [f"{depth}*conformer"]}
    head = {"hidden_size": width, "norm": "rms", "final_norm": False}
    return head | layers | {"extra": [*start, *extra]}

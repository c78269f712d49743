"""Which share do weights and cache get by default? What an engine reserves, taken from the GPU.

SGLang works its mem_fraction_static out from the memory of the GPU, the tokens of a prefill chunk
and the largest batch with a CUDA graph: https://github.com/sgl-project/sglang,
python/sglang/srt/server_args.py and, later, python/sglang/srt/arg_groups/memory_hook.py
(handle_gpu_memory_settings).
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.formula import formula

MIB_OF_60_GIB = 60 * 1024
FLOOR_MIB = 10 * 1024
"""Reserved at least on GPUs of more than 60 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """What SGLang computes at once on GPUs of one size."""

    below_mib: int
    chunk: int
    """Tokens of a prefill chunk (--chunked-prefill-size)."""
    graph: int
    """Sequences of the largest CUDA graph (--cuda-graph-max-bs), with fewer than 4 tensor ranks."""
    graph_wide: int
    """The same with 4 or more."""


BATCHES = (
    Batches(below_mib=20 * 1024, chunk=2048, graph=8, graph_wide=8),
    Batches(below_mib=35 * 1024, chunk=2048, graph=24, graph_wide=80),
    Batches(below_mib=60 * 1024, chunk=4096, graph=32, graph_wide=160),
    Batches(below_mib=90 * 1024, chunk=8192, graph=256, graph_wide=512),
    Batches(below_mib=160 * 1024, chunk=8192, graph=256, graph_wide=512),
    Batches(below_mib=2**40, chunk=16384, graph=512, graph_wide=512),
)
"""As of late 2025. In 2026 GPUs of 20 to 35 GiB came to 4096 tokens, and 48 or 160 sequences."""


@formula(
    "512 + 1.5 · max(chunk, 2048) + 2 · graph + 128 · ranks + 4.5 · graph · groups",
    source="SGLang, handle_gpu_memory_settings; the last term is 3 · graph · groups for up to 300 "
    "sequences",
    unit="MiB",
    basis="modelled",
)
def reserved_mib(*, chunk: int, graph: int, ranks: int, groups: int) -> float:
    """MiB kept from weights and cache; `groups` attend apart, 0 where all attend together."""
    return 512 + 1.5 * max(chunk, 2048) + 2 * graph + 128 * ranks + 4.5 * graph * groups


def static_share(
    memory_mib: int,
    *,
    tp: int = 1,
    pp: int = 1,
    attention_dp: int = 1,
    chunk: int | None = None,
    graph: int | None = None,
    prefill_graphs: int = 0,
) -> float:
    """The default share, of the memory that the driver reports.

    `prefill_graphs` counts the sizes of prefill that have graphs, 8 MiB each (2026). Models with
    images get less still: see `vision_share`.
    """
    found = next(one for one in BATCHES if memory_mib < one.below_mib)
    graph = graph or (found.graph if tp < 4 else found.graph_wide)  # noqa: PLR2004  as named above
    groups = attention_dp if attention_dp > 1 else 0
    reserved: float = reserved_mib(
        chunk=chunk or found.chunk, graph=graph, ranks=tp * pp, groups=groups
    )
    if graph <= 300:  # noqa: PLR2004  half as much more is for larger graphs only
        reserved -= 1.5 * graph * groups
    reserved += 8 * prefill_graphs
    if memory_mib > MIB_OF_60_GIB:
        reserved = max(reserved, FLOOR_MIB)
    return round((memory_mib - reserved) / memory_mib, 3)


@formula(
    "share · 0.95 · max(0.8, min(1.05, 1 - 0.1 · (layers · d · d / (24 · 1024 · 1024) - 1)))",
    source="SGLang, adjust_mem_fraction_for_vlm: ViT-L/14 as the measure; 24 layers and d = 1024 "
    "where a config does not name them num_hidden_layers and hidden_size",
    basis="modelled",
)
def vision_share(*, share: float, layers: int, d: int) -> float:
    """The share where a vision tower of so many layers and that width needs room to work."""
    complexity = layers * d * d / (24 * 1024 * 1024)
    return share * 0.95 * max(0.8, min(1.05, 1 - 0.1 * (complexity - 1)))

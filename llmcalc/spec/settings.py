"""What a user may set on an engine, by the names that engines give it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one start; None: the engine's default, or that it has no such setting."""

    gpu_memory_utilization: float | None = None
    """Share of the device's memory that the engine may use (vLLM)."""
    mem_fraction_static: float | None = None
    """Share of the free memory that weights and cache may use (SGLang)."""
    free_gpu_memory_fraction: float | None = None
    """Share of the memory left after loading that the cache takes (TensorRT-LLM)."""
    max_model_len: int | None = None
    """Tokens of the longest sequence; llama.cpp: the context of one slot."""
    max_num_seqs: int | None = None
    """Sequences at once; SGLang: max_running_requests, TensorRT-LLM: max_batch_size."""
    max_num_batched_tokens: int | None = None
    """Tokens computed at once; SGLang: chunked_prefill_size, TensorRT-LLM: max_num_tokens."""
    block_size: int | None = None
    """Tokens of one block of the cache."""
    ubatch_size: int | None = None
    """Tokens that llama.cpp computes at once."""
    parallel: int | None = None
    """Slots of a llama.cpp server; None: one a sequence of the batch."""
    n_gpu_layers: int | None = None
    """Layers on the device, the output counted as one; the others stay on the host."""
    flash_attn: bool | None = None
    enforce_eager: bool | None = None
    """Without CUDA graphs."""
    async_scheduling: bool | None = None
    """Whether the next step is scheduled while one runs, whose tokens windows hold too (vLLM)."""
    cpu_offload_gb: float | None = None
    """GiB of weights kept on the host, each GPU (vLLM)."""

"""What engines print that we predict, by kind of file."""

from __future__ import annotations

from dataclasses import replace

from llmcalc.checks.measured.case import Prediction
from llmcalc.checks.measured.metric import (
    GIB,
    MIB,
    Measured,
    Metric,
    cell,
    fits,
    graph,
    on_device,
    outcome,
    ran,
    room,
    scaled,
    sglang_cache,
    sglang_token,
    size,
    speed,
    step_gib,
    tokens,
    vllm_token,
)
from llmcalc.checks.measured.metrics_of_training_time import HOURS, TIMES

_WEIGHTS = Metric(
    name="weights_gib",
    measured=cell("weights_gib"),
    predicted=scaled("weights", GIB),
    needs=("weights",),
    how="bytes of the fullest GPU's weights in their format, engine padding included",
)
_TOKENS = Metric(
    name="kv_tokens",
    measured=tokens,
    predicted=scaled("kv_tokens", 1),
    needs=("weights", "cache", "room", "tokens"),
    how="what the engine's budget leaves for the cache, in tokens",
    of_room=True,
)
_CONCURRENCY = Metric(
    name="max_concurrency_x",
    measured=cell("max_concurrency_x"),
    predicted=scaled("max_concurrency", 1),
    needs=("weights", "cache", "room"),
    how="sequences of the longest length that the cache holds",
    of_room=True,
)
_OUTCOME = Metric(
    name="outcome",
    measured=outcome,
    predicted=fits,
    needs=("weights", "cache", "room"),
    how="1 where the room left for the cache holds one sequence of the longest length, else 0",
    of_room=True,
)


def _given_cache(tokens: str, concurrency: str) -> tuple[Metric, ...]:
    """Metrics of an engine that was given the bytes of its cache, by the columns they stand in."""
    how = "what blocks within the given bytes hold"
    return (
        replace(_TOKENS, measured=cell(tokens), needs=("cache",), how=how, of_room=False),
        replace(_CONCURRENCY, measured=cell(concurrency), needs=("cache",), how=how, of_room=False),
    )


def _later(name: str, measured: Measured) -> Metric:
    """A metric that is recognised, and that no engine of ours predicts."""
    return Metric(
        name=name, measured=measured, predicted=lambda _: None, needs=(), how="not predicted"
    )


_PER_TOKEN = "bytes that a token adds to the cache of one GPU; measured: cache over its tokens"  # noqa: S105  (no password)
_POOL = "what the engine's budget leaves for the cache of one GPU"


def _token_pool(found: Prediction) -> float | None:
    """GiB of the pool of tokens; in a model with states the room holds those, too."""
    token = found.kv_bytes_per_token
    if found.kv_room is None or found.kv_tokens is None or token is None:
        return None
    return min(found.kv_room, found.kv_tokens * token) / GIB


METRICS: dict[str, tuple[Metric, ...]] = {
    "vllm": (
        _WEIGHTS,
        Metric(
            name="kv_avail_gib",
            measured=room("kv_avail_gib"),
            predicted=scaled("kv_room", GIB),
            needs=("weights", "room"),
            how=_POOL,
            of_room=True,
        ),
        Metric(
            name="activation_peak_gib",
            measured=cell("activation_peak_gib"),
            predicted=scaled("activations", GIB),
            needs=("weights", "room"),
            how="what the profiling run reaches beside the weights",
        ),
        _TOKENS,
        Metric(
            name="kv_bytes_per_token",
            measured=vllm_token,
            predicted=scaled("kv_bytes_per_token", 1),
            needs=("cache", "tokens"),
            how=_PER_TOKEN,
        ),
        _CONCURRENCY,
        _OUTCOME,
    ),
    "sglang": (
        Metric(
            name="weights_gib",
            measured=cell("weights_mem_usage_gb"),
            predicted=_WEIGHTS.predicted,
            needs=_WEIGHTS.needs,
            how=_WEIGHTS.how,
        ),
        Metric(
            name="kv_tokens",
            measured=tokens,
            predicted=_TOKENS.predicted,
            needs=_TOKENS.needs,
            how=_TOKENS.how,
            of_room=True,
        ),
        Metric(
            name="kv_gb",
            measured=sglang_cache,
            predicted=_token_pool,
            needs=("weights", "cache", "room"),
            how=_POOL,
            of_room=True,
        ),
        Metric(
            name="kv_bytes_per_token",
            measured=sglang_token,
            predicted=scaled("kv_bytes_per_token", 1),
            needs=("cache", "tokens"),
            how=_PER_TOKEN,
        ),
    ),
    "llamacpp": (
        Metric(
            name="model_size",
            measured=size,
            predicted=scaled("stored", GIB),
            needs=("weights",),
            how="GiB of all tensors in the types that the file type gives them",
        ),
        Metric(
            name="model_buf_dev_mib",
            measured=on_device,
            predicted=scaled("weights", MIB),
            needs=("weights", "devices"),
            how="MiB of the tensors that stand on the devices",
        ),
        Metric(
            name="kv_self_mib",
            measured=cell("kv_self_mib"),
            predicted=scaled("kv_cache", MIB),
            needs=("cache",),
            how="MiB of the cells of every layer at the context",
        ),
        Metric(
            name="compute_buf_dev_mib",
            measured=graph,
            predicted=scaled("activations", MIB),
            needs=("scratch",),
            how="MiB of the graph of one micro-batch",
        ),
    ),
    "llamacpp_live": (
        _later("kv_self_mib", cell("kv_self_mib")),
        _later("compute_buf_mib", cell("compute_buf_mib")),
    ),
    "oom": (_OUTCOME,),
    "vllm_cpu": _given_cache("tokens", "concurrency"),
    "vllm_live": _given_cache("kv_tokens", "max_concurrency_x"),
    "decode": (
        Metric(
            name="decode_tok_s",
            measured=speed("decode_tok_s"),
            predicted=scaled("decode_tokens_per_second", 1),
            needs=("speed",),
            how="tokens a second of all sequences at the mean context of the run",
        ),
        Metric(
            name="prefill_tok_s",
            measured=speed("prefill_tok_s"),
            predicted=scaled("prefill_tokens_per_second", 1),
            needs=("speed",),
            how="tokens of the prompt a second",
        ),
        Metric(
            name="full_load_tok_s",
            measured=speed("total_output_tok_s_max_load"),
            predicted=scaled("saturated_tokens_per_second", 1),
            needs=("speed",),
            how="tokens of output a second with memory full of sequences",
        ),
        _later("mlperf_tok_s", speed("mlperf_tok_s")),
    ),
    "gguf_types": (_later("types", lambda cells: 1.0 if cells.get("types") else None),),
    "training": (
        Metric(
            name="mem",
            measured=step_gib,
            predicted=scaled("step", GIB),
            needs=("room",),
            how="GiB of one step at its peak, of live tensors, reserved or on the device as stated",
        ),
        *TIMES,
        Metric(
            name="outcome",
            measured=ran,
            predicted=fits,
            needs=("devices",),
            how="1 where a step fits once the allocator has given back what it can, else 0",
            of_room=True,
        ),
    ),
    "gpu_hours": HOURS,
}
"""By kind of file."""

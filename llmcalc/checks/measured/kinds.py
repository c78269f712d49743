"""The kinds of measurement files, told apart by their headers."""

from __future__ import annotations

from dataclasses import dataclass

_COMMON = frozenset({"row_id", "id", "source", "date", "notes", "split_group"})
"""Columns that say where a row comes from; a file may leave them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One form of file: which columns were configured, and which the engine answered."""

    name: str
    config: frozenset[str]
    """What was asked for: all that a prediction may see."""
    measured: frozenset[str]
    remarks: frozenset[str] = frozenset()
    """What somebody noted beside it; nobody computes with it."""

    @property
    def required(self) -> frozenset[str]:
        """Columns without which a file is not of this kind."""
        return (self.config | self.measured | self.remarks) - _COMMON


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS = (
    Kind(
        name="vllm",
        config=_names(
            "date version engine model model_stated weight_quant gpu gpu_total_gib tp pp ep_dp"
            " gpu_memory_utilization max_model_len max_num_seqs max_num_batched_tokens"
            " kv_cache_dtype enforce_eager block_size concurrency_len"
        ),
        measured=_names(
            "weights_gib non_torch_gib activation_peak_gib cudagraph_gib"
            " consumed_weights_plus_nontorch_gib kv_avail_gib gpu_blocks kv_tokens"
            " max_concurrency_x outcome"
        ),
    ),
    Kind(
        name="sglang",
        config=_names(
            "date model model_stated weight_quant gpu tp ep_dp mem_fraction_static"
            " max_running_requests kv_dtype"
        ),
        measured=_names(
            "weights_mem_usage_gb avail_after_weights_gb kv_tokens swa_tokens k_gb v_gb kv_gb"
            " mamba_slots mamba_conv_gb mamba_ssm_gb avail_after_pool_gb cudagraph_gb avail_end_gb"
        ),
    ),
    Kind(
        name="llamacpp",
        config=_names(
            "date engine build model arch ftype params n_layer n_head_kv n_embd n_embd_k_gqa"
            " n_vocab n_ctx n_batch n_ubatch cache_type flash_attn mla_mode n_gpu_layers devices"
            " n_dev"
        ),
        measured=_names(
            "model_size model_buf_dev_mib model_buf_host_mib kv_self_mib compute_buf_dev_mib"
            " compute_bufs"
        ),
    ),
    Kind(
        name="llamacpp_live",
        config=_names(
            "engine build model arch ftype n_ctx n_batch n_ubatch n_parallel kv_unified"
            " cache_type_k cache_type_v flash_attn"
        ),
        measured=_names(
            "params model_size kv_self_mib kv_pools state_mib compute_buf_mib output_buf_mib"
        ),
    ),
    Kind(
        name="oom",
        config=_names(
            "date engine model quant gpu gpu_total_gib n_gpu parallelism gmu max_model_len"
        ),
        measured=_names("weights_gib outcome"),
        remarks=_names("detail"),
    ),
    Kind(
        name="vllm_cpu",
        config=_names(
            "config max_model_len kv_gib kv_dtype version block_size max_num_batched_tokens"
        ),
        measured=_names("num_gpu_blocks tokens concurrency groups"),
    ),
    Kind(
        name="vllm_live",
        config=_names(
            "engine version model max_model_len kv_gib kv_cache_dtype state_dtype block_size"
            " max_num_batched_tokens hybrid prefix_caching"
        ),
        measured=_names("num_gpu_blocks kv_tokens max_concurrency_x groups needed_gib longest"),
    ),
    Kind(
        name="decode",
        config=_names(
            "date engine backend model quant params_b gpu n_gpu parallelism batch isl osl test"
            " metric avg_ctx stated_bw_gbs"
        ),
        measured=_names("value stdev mean_tpot_ms mbu_est"),
        remarks=_names("weights_gib weights_src peak_bw_gbs"),
    ),
    Kind(
        name="gguf_types",
        config=_names("ftype layers heads_per_kv_head experts tensor"),
        measured=_names("types"),
    ),
    Kind(
        name="training",
        config=_names(
            "model params_b task gpus gpu framework version precision optimizer mbs gbs seq tp pp"
            " vpp dp cp ep shard recompute flash lora_rank lora_targets quant offload packing"
            " mem_unit mem_kind"
        ),
        measured=_names(
            "mem mem_gib_low mem_gib_high step_s tok_s_gpu tflops_gpu mfu_pct hfu_pct outcome"
        ),
    ),
    Kind(
        name="gpu_hours",
        config=_names("model params_b active_params_b tokens_b gpus gpu phase basis"),
        measured=_names("gpu_hours wall reported_mfu_or_tput"),
    ),
)
"""In the order of the documentation."""


def recognised(header: frozenset[str]) -> Kind | None:
    """The kind whose columns all stand in the header, the one with most of them; or None."""
    found = [kind for kind in KINDS if kind.required <= header]
    return max(found, key=lambda kind: len(kind.required), default=None)


def nearest(header: frozenset[str]) -> tuple[Kind, frozenset[str]] | None:
    """The kind that a header comes near to and the columns it misses; None if it has few of any."""
    best = max(KINDS, key=lambda kind: len(kind.required & header) / len(kind.required))
    missing = best.required - header
    return (best, missing) if 2 * len(missing) < len(best.required) else None

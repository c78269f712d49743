"""Keys of a config.json that say nothing about its tensors.

A key that is neither read for the architecture nor listed here nor equal to its class default is
refused, so a list too short costs the user a question and never a wrong count.
"""

from __future__ import annotations

import re
from typing import Any

_WORDS = frozenset(
    """
    model_type transformers_version torch_dtype dtype auto_map name_or_path tokenizer_class prefix
    use_cache return_dict return_dict_in_generate output_attentions output_hidden_states torchscript
    output_scores output_router_logits id2label label2id problem_type num_labels finetuning_task
    output_past task_specific_params use_bfloat16 tf_legacy_loss gradient_checkpointing
    cache_implementation
    attn_implementation chunk_size_feed_forward is_decoder bad_words_ids begin_suppress_tokens
    suppress_tokens diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
    exponential_decay_length_penalty length_penalty max_length max_new_tokens min_length
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences remove_invalid_values
    repetition_penalty temperature top_k top_p typical_p
    initializer_range initializer_factor init_std init_device init_method
    embedding_initializer_range
    force_bos_token_to_be_generated pretraining_tp
    router_aux_loss_coef router_jitter_noise router_z_loss_coef input_jitter_noise
    aux_loss_alpha aux_loss_free_alpha seq_aux ep_size n_group topk_group topk_method scoring_func
    norm_topk_prob routed_scaling_factor moe_norm_min moe_router_scaling_factor
    attn_logit_softcapping final_logit_softcapping query_pre_attn_scalar logit_scale logits_scaling
    embedding_multiplier residual_multiplier attention_multiplier clip_qkv swiglu_limit swiglu_alpha
    attn_temperature_tuning floor_scale attn_scale attention_sink_size
    scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn
    attention_softmax_in_fp32 scale_attention_softmax_in_fp32 attn_softmax_bf16
    rope_theta rope_scaling rope_parameters rope_interleave rope_interleaved rope_local_base_freq
    rotary_emb_base rotary_emb_fraction original_max_position_embeddings initial_context_length
    masked_softmax_fusion bias_dropout_fusion skip_bias_add skip_bias_add_qkv offset_alibi
    slow_but_exact use_flash_attn fused_dropout_add_ln residual_in_fp32 num_logits_to_keep
    quantization_config unsloth_fixed unsloth_version transformers.js_config for_llm_compressor
    sequence_parallel_enabled selective_checkpoint_enabled is_llama_config max_sequence_length n_ctx
    apply_residual_connection_post_layernorm ignore_keys_at_rope_validation attn_uses_sequence_id
    alibi_bias_max attn_impl softmax_scale prefix_lm max_position_embeddings max_window_layers
    """.split()  # noqa: SIM905 (a table)
)
"""Generic keys, generation, losses, scores, scales, rotary angles, leftovers of frameworks.

max_window_layers does nothing without use_sliding_window, max_position_embeddings nothing without
a table or angles: a mapping that knows either reads it.
"""

_SHAPES = re.compile(
    r"_.*|summary_.*|.*_token_ids?|.*_token_index|.*_eps|.*epsilon|.*dropout.*|.*pdrop|.*layerdrop"
)

_NEUTRAL: dict[str, Any] = {
    "is_encoder_decoder": False, "add_cross_attention": False, "tie_encoder_decoder": False,
    "pruned_heads": {}, "attention_bias": False, "mlp_bias": False, "lm_head_bias": False,
    "use_bias": False, "qk_layernorm": False, "use_qk_norm": False, "use_mrope": False,
    "use_sliding_window": False, "moe_layer_freq": 1, "use_parallel_embedding": False,
    "position_embedding_type": "rope", "partial_rotary_factor": 1.0,
}  # fmt: skip
"""Keys that change the architecture unless they hold this value."""


def neutral(key: str, value: Any) -> bool:
    """Whether a key that no mapping reads leaves the architecture alone."""
    if value is None or key in _WORDS or _SHAPES.fullmatch(key):
        return True
    if key == "layer_types" and isinstance(value, list):
        return all(one == "full_attention" for one in value)
    return key in _NEUTRAL and same(value, _NEUTRAL[key])


def same(one: Any, other: Any) -> bool:
    """Equality that tells true from 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)

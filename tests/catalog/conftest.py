"""What tests of the catalog share: a cache of their own, no folders of the user, a valid card."""

from __future__ import annotations

from pathlib import Path

import pytest

CARD = """\
name: tiny
family: test
source: by hand
hidden_size: 64
vocab_size: 100
max_position_embeddings: 512
blocks:
  dense:
    norms: 2
    parts:
      - attn: {num_heads: 8, num_kv_heads: 2}
      - mlp: {intermediate_size: 256}
  sparse:
    parts:
    - mla: {num_heads: 4, kv_lora_rank: 8, qk_nope_head_dim: 8, qk_rope_head_dim: 4, v_head_dim: 8}
    - moe: {num_experts: 8, num_experts_per_tok: 2, intermediate_size: 32}
layers: [2*dense, "3*(sparse dense)"]
mtp: {block: sparse}
"""
"""A valid card; line 1 is its name."""

STACKED = """\
name: stacked
family: test
source: by hand
hidden_size: 64
vocab_size: 100
blocks:
  looks:
    norms: 3
    parts:
      - attn: {num_heads: 8, rotary_dim: 0, relative_buckets: 32}
      - attn: {num_heads: 8, cross: true}
      - moe: {num_experts: 4, zero_experts: 2, num_experts_per_tok: 5, intermediate_size: 32}
  rests:
    norms: 2
    parts:
      - attn: {num_heads: 8, head_dim: 16, k_eq_v: true}
      - mamba2: {num_heads: 8, head_dim: 16, n_groups: 2}
  reads:
    norms: 1
    parts:
      - attn: {num_heads: 8, kv_reuse: true}
      - gated_deltanet: {num_k_heads: 2, num_v_heads: 4, head_k_dim: 8, head_v_dim: 8}
    extra: [{name: gate, shape: [64]}]
layers: [2*looks, rests, reads]
encoder:
  blocks:
    sees:
      parts:
        - attn: {num_heads: 8, num_kv_heads: 4}
        - mlp: {intermediate_size: 256}
  layers: [4*sees]
  length: 1500
  extra: [{name: conv, shape: [64, 80, 3]}]
towers:
  - name: eyes
    stack:
      hidden_size: 48
      blocks:
        patch:
          parts:
            - attn: {num_heads: 6, rotary_dim: 8}
            - mlp: {intermediate_size: 96}
      layers: [2*patch]
  - {name: ears, modality: audio, params: 1000}
"""
"""A valid card of an encoder-decoder model with towers; line 1 is its name."""

GPU = """\
name: g1
title: G1 of nobody
vendor: nobody
released: 2024
memory:
  marketed_gb: 80
  reported_mib: 81559
  bandwidth_gb_s: 3352
compute: {bf16: 989.4}
prices:
  - {provider: cloud, usd_per_hour: 2.5, date: 2026-08-01, source: its page}
sources: {memory: its page}
"""
"""A valid GPU spec; line 1 is its name."""


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no card or spec folders of the user."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LLMCALC_CACHE", str(folder))
    monkeypatch.delenv("LLMCALC_CARDS", raising=False)
    monkeypatch.delenv("LLMCALC_GPUS", raising=False)
    return folder

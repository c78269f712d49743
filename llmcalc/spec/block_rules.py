"""How an engine lays its cache out in blocks of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmcalc.spec.limits import Amount, Bool, Few, Width, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRules:
    """How a version of vLLM lays out its cache; each default is what 0.32 does on a GPU."""

    form: Literal["blocks"] = "blocks"

    block_size: Width = 16
    """Tokens of a block, where nothing forces another number."""
    latent_block_size: Width | None = None
    """Of models that cache latents, whose kernels are made for one size; left out: the same."""
    expanded_latents: Bool = False
    """Whether keys and values of all heads are cached instead of a latent: for MiniCPM3, which
    vLLM has no kernels of latent attention for (vllm/model_executor/models/minicpm3.py)."""
    latent_align: Width = 1
    """Bytes that the latent of a token in one layer is rounded up to (V0's CacheEngine: 256)."""
    windows: Bool = True
    """Whether blocks outside a window are given back; V0 kept them."""
    hybrid: Bool = True
    """Whether layers of different kinds stand in groups of their own (from 0.9.2 on)."""
    prefix_caching: Bool = True
    """Of models with states, which then keep a copy at the last boundary of blocks."""
    state_copies: Few = 2
    """States of one sequence under prefix caching; one without."""
    more_copies: tuple[tuple[Word, Few], ...] = (("mamba2", 3),)
    """Recurrences that keep another number under prefix caching."""
    wide_states: tuple[Word, ...] = ("kda",)
    """Recurrences whose state has 32 bits an element whatever the model asks for."""
    state_bytes: Few | None = None
    """Of an element of every recurrent state (--mamba-ssm-cache-dtype); left out: 2, or 4 where
    the model or `wide_states` says so."""
    nearly_even: Amount = 1.5
    """Groups have as many layers as the commonest kind where it is at most so much commoner than
    the rarest; else as the rarest."""
    steps_ahead: Few | None = 1
    """Steps scheduled beyond one for each pipeline stage, whose tokens windows hold as well; None:
    the tokens of one step are held, however many stages there are."""
    reported: Literal["length", "blocks"] = "length"
    """Tokens in the log: concurrency times length (from 0.21 on), or blocks of one group."""

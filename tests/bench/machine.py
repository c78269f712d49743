"""A small device, a small model and the shortest of plans, for runs in this process."""

from __future__ import annotations

from dataclasses import replace

import torch

from llmcalc.bench.device import Device
from llmcalc.bench.effort import Effort
from llmcalc.bench.plan import QUICKLY, Plan
from llmcalc.spec.card import Block, ModelCard
from llmcalc.spec.parts import Attention, Mlp

HASTY = Effort(shortest=1e-5, repeats=5, budget=0.01, attempts=1)
PLAN: Plan = replace(
    QUICKLY,
    effort=HASTY,
    batches=(1, 2),
    prefill=(4,),
    contexts=(8, 16),
    steps=((1, 8), (2, 8)),
    seconds=None,
)
DEVICE = Device(
    torch=torch.device("cpu"), name="a small CPU", memory=2**30, free=2**24, cache=2**12
)
CARD = ModelCard(
    name="small",
    family="test",
    source="by hand",
    hidden_size=16,
    vocab_size=32,
    blocks={
        "one": Block(
            parts=(
                Attention(num_heads=4, num_kv_heads=2, head_dim=8),
                Mlp(intermediate_size=24),
            )
        )
    },
    layers=("4*one",),
)
"""A layer: q 32 × 16, k and v 16 × 16, o 16 × 32, three of 24 × 16, two norms of 16."""
LAYER = 32 * 16 + 2 * 16 * 16 + 16 * 32 + 3 * 24 * 16 + 2 * 16
ENDS = 32 * 16 + 16
"""Head and last norm; the token table is as large as the head and is not read."""

"""What training keeps and Adam holds, against torch's own allocator on a real device.

Usage: python benchmarks/allocator.py cuda|cpu

Prints JSON: for a few small models, bytes that the engine says are kept for the backward pass and
that the allocator really holds after the forward pass, and bytes of AdamW's states. A CPU has no
allocator to ask: there only the states are counted, tensor by tensor.
"""

from __future__ import annotations

import json
import sys

import torch
from torch.nn import functional

from llmcalc.bench.device import device as opened
from llmcalc.bench.model import cut, materialised
from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.engines.kept import saved
from llmcalc.engines.params import count
from llmcalc.engines.workload import Workload

MODELS = ("qwen3-0.6b", "llama3.2-1b")
BATCH, TOKENS = 2, {"cuda": 512, "cpu": 32}
ROOM = {"cuda": 2 * 2**30, "cpu": 2**28}
"""Bytes of weights that are loaded; a larger model is cut to the layers that fit, at least one."""


def measured(name: str, kind: str) -> dict[str, int | str | None]:
    """One model, one step."""
    device = opened(kind)
    tokens = TOKENS[kind]
    whole = cut(card(name), "bf16", ROOM[kind])
    model = materialised(whole, device, "bf16", "sdpa").requires_grad_(True)
    if whole.embedding.tied:
        model.ends.lm_head.weight = model.ends.embed_tokens.weight
    ids = torch.randint(0, whole.vocab_size, (BATCH, tokens), device=device.torch)
    before = _held(kind)
    logits = model(ids)
    loss = functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
    held = None if before is None else (_held(kind) or 0) - before
    loss.backward()
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.step()
    states = sum(
        tensor.numel() * tensor.element_size()
        for state in optimizer.state.values()
        for tensor in state.values()
        if isinstance(tensor, torch.Tensor) and tensor.dim()
    )
    ledger = lower(whole, training=True)
    load = Workload(phase="train", batch=BATCH, query=tokens, context=tokens)
    return {
        "model": name,
        "layers": len(ledger.order),
        "batch": BATCH,
        "tokens": tokens,
        "kept_predicted": saved(ledger, load, "sdpa"),
        "kept_and_logits_measured": held,
        "adam_predicted": 2 * 2 * count(ledger).total,
        "adam_measured": states,
    }


def _held(kind: str) -> int | None:
    """Bytes that live tensors hold."""
    if kind != "cuda":
        return None
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def main() -> None:
    """Measure each model."""
    kind = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    print(json.dumps([measured(name, kind) for name in MODELS], indent=1))


if __name__ == "__main__":
    main()

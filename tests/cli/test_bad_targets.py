"""Names of adapters' targets that nobody has, or that the model has not: a line, a hint, a code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

BAD = [
    ("llama3-8b --targets foo", 2, "no adapters stand beside 'foo'",
     "it has q, k, v, o, gate, up, down"),
    ("llama3-8b --targets all_linear", 2, "no adapters stand beside 'all_linear'",
     "did you mean all-linear?"),
    ("llama3-8b --targets q,qproj", 2, "no adapters stand beside 'qproj'", "did you mean q_proj?"),
    ("llama3-8b --targets experts", 5, "llama3-8b has no experts",
     "it has q, k, v, o, gate, up, down"),
    ("falcon-7b --framework peft --targets q_proj", 5, "falcon-7b has no q_proj",
     "it has query_key_value, dense, dense_h_to_4h, dense_4h_to_h, q, k, v, o, up, down"),
    ("llama3-8b --targets ,", 2, "--targets ',' names nothing", "write it as attention,mlp"),
    ("llama3-8b --also-train ,", 2, "--also-train ',' names nothing", "write it as embedding,head"),
    ("llama3-8b --also-train norm", 2, "--also-train takes tables, not 'norm'",
     "known are embedding, head"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "message", "hint"), BAD, ids=[line for line, *_ in BAD])
def test_a_target_that_is_none(
    line: str, code: int, message: str, hint: str, llmcalc: Callable[..., Any]
) -> None:
    run = llmcalc("train", "--method", "lora", *line.split())
    assert (run.code, run.out) == (code, "")
    assert run.err.splitlines() == [f"error: {message}", f"hint: {hint}"]


def test_a_rank_above_a_side_is_answered_with_a_warning(llmcalc: Callable[..., Any]) -> None:
    """Keys and values of Llama 3 8B are 1,024 wide; PEFT takes such a rank, and so do we."""
    warned = llmcalc("train", "llama3-8b", "--method", "lora", "--rank", "1025")
    assert warned.code == 0
    assert "--rank adds nothing above the narrowest side" in warned.err
    assert "--rank" not in llmcalc("train", "llama3-8b", "--method", "lora", "--rank", "1024").err


def test_assumptions_say_what_adapters_stand_beside(llmcalc: Callable[..., Any]) -> None:
    shared = llmcalc("train", "falcon-7b", "--method", "lora", "--framework", "peft").out
    assert (
        "rank 16 beside q+k+v, o, up, down, no dropout, joined ones with one first factor" in shared
    )
    torn = llmcalc(
        "train", "falcon-7b", "--method", "lora", "--framework", "peft", "--targets", "q,v"
    ).out
    assert "q, v within query_key_value, beside which PEFT puts one pair" in torn
    experts = llmcalc("train", "mixtral-8x7b", "--method", "lora", "--targets", "attention").out
    assert "none beside experts" in experts

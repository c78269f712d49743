"""`llmcalc train` as a script and a reader meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Llmcalc = Callable[..., Any]

IDLE = [
    ("--every 4", "--every does nothing without --recompute full"),
    ("--vpp 2", "--vpp does nothing without --pp above 1"),
    ("--schedule zb-h1", "--schedule does nothing without --pp above 1"),
    ("--pp 2 --schedule interleaved", "--schedule interleaved does nothing without --vpp above 1"),
    (  # arXiv:2104.04473, section 2.2.2: an integer multiple of the pipeline's stages
        "--pp 4 --vpp 2 --global-batch 6",
        "--global-batch makes no multiple of --pp micro-batches, as Megatron's --vpp demands",
    ),
    ("--sp", "--sp does nothing without --tp above 1"),
    ("--shard zero3", "--shard deals nothing out on one data rank; add --gpus"),
    ("--tp 2 --shard zero1", "--shard deals nothing out on one data rank; add --gpus"),
    ("--imbalance 2", "--imbalance does nothing for a model without experts"),
    ("--network 50", "--network does nothing within one node"),
    *(
        (f"{option} 3", f"{option} tells of a whole run, whose length --tokens or --samples give")
        for option in ("--price", "--mtbf", "--checkpoint", "--restart")
    ),
]


@pytest.mark.parametrize(("options", "warning"), IDLE, ids=[options for options, _ in IDLE])
def test_an_option_without_effect_is_named_and_the_answer_stands(
    options: str, warning: str, llmcalc: Llmcalc
) -> None:
    run = llmcalc("train", "llama3-8b", "--gpu", "h100", *options.split())
    assert run.code == 0
    assert run.err == f"warning: {warning}\n"
    assert "weights" in run.out


@pytest.mark.parametrize(
    "options",
    [
        "--recompute full --every 4",
        "--pp 2 --vpp 2 --schedule interleaved",
        "--pp 4 --vpp 2 --global-batch 8",
        "--pp 4 --global-batch 6",
        "--tp 2 --sp",
        "--gpus 2 --shard zero3",
        "--gpus 16 --network 50 --shard fsdp",
        "--tokens 1B --price 2 --mtbf 50000 --checkpoint 30 --restart 600",
    ],
)
def test_options_with_effect_bring_no_warning(options: str, llmcalc: Llmcalc) -> None:
    assert llmcalc("train", "llama3-8b", "--gpu", "h100", *options.split()).err == ""


def test_train_and_fit_agree_where_the_context_is_too_short(llmcalc: Llmcalc) -> None:
    """BERT was made for 512 tokens (its config.json)."""
    fit = llmcalc("fit", "bert-base", "--gpu", "h100", "--seq", "1024", "--train", "full", "--json")
    (placed,) = json.loads(fit.out)["results"]
    assert (placed["verdict"], placed["limit"]) == ("no", "context")
    refused = llmcalc("train", "bert-base", "--gpu", "h100", "--seq", "1024")
    assert refused.code == 5
    assert "over the 512 tokens" in refused.err
    assert llmcalc("train", "bert-base", "--gpu", "h100", "--seq", "1024", "--force").code == 0


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("rlhf qwen3-8b --algo dpo --every 2", "--every does nothing without --recompute full"),
        ("rlhf qwen3-8b --algo dpo --no-reward-model", "--no-reward-model does nothing: dpo has"),
        ("rlhf qwen3-8b --algo reward --no-reference", "--no-reference does nothing: reward has"),
        ("rlhf qwen3-8b --algo reward --reference", "--reference does nothing: reward has none"),
        ("rlhf qwen3-8b --algo dpo --gpu h100 --network 50", "--network does nothing within one"),
        ("fit llama3-8b --gpu h100 --max-params 3B", "--max-params chooses from the catalog"),
        ("fit llama3-8b --gpu h100 --all", "--all chooses from the catalog"),
        ("fit llama3-8b --gpu h100 --train lora --name x", "--name chooses from the catalog"),
    ],
)
def test_other_commands_name_what_has_no_effect(line: str, warning: str, llmcalc: Llmcalc) -> None:
    run = llmcalc(*line.split())
    assert run.code == 0
    assert run.err.startswith(f"warning: {warning}")
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "verdict", "words"),
    [
        # 270 million numbers of 16 bytes on 80 GB; 6.7 billion of them are 108 GB.
        ("gemma3-270m --gpu h100", "fits", "it fits"),
        ("llama2-7b --gpu a100-80", "no", "it does not fit"),
    ],
)
def test_the_note_says_whether_it_fits(
    line: str, verdict: str, words: str, llmcalc: Llmcalc
) -> None:
    (found,) = json.loads(llmcalc("train", *line.split(), "--json").out)["results"]
    assert found["verdict"] == verdict
    assert f"numbers are trained; {words}\n" in llmcalc("train", *line.split()).out


def test_what_is_tight_says_why(llmcalc: Llmcalc) -> None:
    """Longer and longer sequences: too little is free, then the reserve must be given back."""
    line = ("train", "llama3-8b", "--gpu", "4090", "--method", "lora", "--recompute", "full", "-s")
    said = []
    for seq in range(2048, 4096, 128):
        (found,) = json.loads(llmcalc(*line, str(seq), "--json").out)["results"]
        if found["verdict"] == "tight":
            why = llmcalc(*line, str(seq)).out.split("it is tight: it ")[1].split("\n")[0]
            assert ("allocator" in why) == (found["free"] < 0)
            said.append(why)
    assert list(dict.fromkeys(said)) == [
        "takes more than 90 % of the memory",
        "fits only once the allocator gives back its reserve",
    ]


def test_without_a_gpu_no_verdict_is_given(llmcalc: Llmcalc) -> None:
    assert "numbers are trained\n" in llmcalc("train", "llama2-7b").out


def test_time_of_nvme_is_said_to_be_left_out(llmcalc: Llmcalc) -> None:
    line = ("train", "llama3-8b", "--gpu", "h100", "--offload")
    assert "NVMe: its time is not counted" in llmcalc(*line, "--offload-to", "nvme").out
    assert "NVMe" not in llmcalc(*line).out

"""Names of targets: PEFT's own counts, counts that others print, and what nobody has."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from llmcalc.api.targets import modules_of
from llmcalc.catalog.find import card, cards
from llmcalc.catalog.recipes import MODULES
from llmcalc.engines.train.trained import count
from llmcalc.errors import ImpossibleError, UsageError
from tests.training import planned

IDLE = {"longcat-flash": 28 * 256 * 2 * 16 * (6144 + 4096)}
"""Its class gives matrices to experts that return their input, of 28 layers."""
PEFT = Path(__file__).parents[1] / "data" / "peft_trainable.tsv"


def _trained(name: str, targets: str, *, framework: str = "huggingface", rank: int = 16) -> int:
    named = frozenset(targets.split(","))
    return count(
        *planned(name, method="lora", rank=rank, targets=named, framework=framework)
    )  # fmt: skip


def _products(name: str, targets: str, framework: str = "generic") -> set[tuple[str, ...]]:
    named = frozenset(targets.split(","))
    _, plan = planned(name, method="lora", rank=8, targets=named, framework=framework)
    assert plan.adapters
    return {pair.products for pair in plan.adapters.pairs}


def _rows() -> list[dict[str, str]]:
    with PEFT.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["card"])
def test_adapters_are_as_many_as_peft_makes_on_the_class(row: dict[str, str]) -> None:
    """tools/ask_peft.py: peft 0.21.2 and transformers 5.24.0, rank 16, on the meta device."""
    theirs = int(row["trainable"]) - int(row["outside"]) - IDLE.get(row["card"], 0)
    assert _trained(row["card"], row["targets"]) == theirs


@pytest.mark.parametrize(
    ("name", "targets", "rank", "params"),
    [
        # https://huggingface.co/docs/peft quicktour, bigscience/mt0-large, of which T5's large
        # has the shapes: 72 attentions, q and v, 8·(1024 + 1024).
        ("t5-large", "q,v", 8, 2_359_296),
        # The LoRA paper (arXiv:2106.09685), table 4, GPT-3 with r_q = r_v = 1 and 8.
        ("gpt3-175b", "q,v", 1, 4_718_592),
        ("gpt3-175b", "q,v", 8, 37_748_736),
        # Its table 2, RoBERTa base with r_q = r_v = 8, printed as 0.3M.
        ("roberta-base", "query,value", 8, 294_912),
        # PEFT 0.19.2's MetaMathQA table, rank 32 on q_proj and v_proj, and 10 on the MLP.
        ("llama3.2-3b", "q_proj,v_proj", 64, 18_350_080),
        ("llama3.2-3b", "up_proj,gate_proj,down_proj", 10, 9_461_760),
        # A log of qlora.py on LLaMA-7B, which has these shapes: "trainable params: 79953920.0", for
        # it halves the count of 4-bit models.
        ("llama2-7b", "all-linear", 64, 2 * 79_953_920),
        # https://github.com/ymcui/Chinese-LLaMA-Alpaca/issues/189, LLaMA-7B.
        ("llama2-7b", "q_proj,v_proj", 8, 4_194_304),
        # A log of microsoft/phi-3-mini-4k-instruct: 3,846,245,376 parameters, these among them.
        ("phi-3-mini", "all-linear", 16, 25_165_824),
    ],
)
def test_published_counts(name: str, targets: str, rank: int, params: int) -> None:
    assert _trained(name, targets, rank=rank) == params


@pytest.mark.parametrize(
    ("name", "targets", "framework", "params"),
    [
        # 32 layers: 4544 + 4672, 2·4544, twice 4544 + 18176, 16 times.
        ("falcon-7b", "all-linear", "huggingface", 32_636_928),
        ("falcon-7b", "query_key_value", "generic", 32 * 16 * (4544 + 4672)),
        ("falcon-7b", "qkv", "generic", 32 * 16 * (3 * 4544 + 4672)),
        ("gpt2", "c_attn", "huggingface", 12 * 16 * (768 + 2304)),
        ("gpt2", "c_attn", "generic", 589_824),
        # 3 dense layers of 18432 and 58 shared experts of 2048, three matrices each.
        ("deepseek-v3", "gate_proj,up_proj,down_proj", "generic", 3_686_400 + 25_657_344),
        # And 58 layers of 256 routed ones, as large as the shared.
        ("deepseek-v3", "mlp", "generic", 3_686_400 + 257 * 25_657_344),
        # Four of attention and 8 experts of three: PEFT stores gate and up as one.
        ("mixtral-8x7b", "attention", "generic", 13_631_488),
        ("mixtral-8x7b", "attention,mlp", "generic", 13_631_488 + 32 * 8 * 16 * 3 * 18_432),
        # peft 0.21.2 on its class: target_parameters mlp.experts.gate_up_proj and down_proj.
        (
            "mixtral-8x7b",
            "attention,experts.gate_up_proj,experts.down_proj",
            "huggingface",
            223_346_688,
        ),
        ("mixtral-8x7b", "all-linear", "generic", 13_631_488 + 32 * 8 * 16 * 3 * 18_432),
        # As all-linear on that class: the router too, and twice the rank beside gate and up.
        (
            "mixtral-8x7b",
            "all-linear",
            "huggingface",
            13_631_488 + 32 * 16 * (4096 + 8 + 8 * (2 * 32_768 + 18_432)),
        ),
    ],
)
def test_counts_by_hand(name: str, targets: str, framework: str, params: int) -> None:
    assert _trained(name, targets, framework=framework) == params


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("llama3-8b", ["attention,mlp", "q,k,v,o,gate,up,down", "qkv,o,mlp", "wq,wk,wv,wo,w1,w2,w3",
                       "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj", "all-linear"]),
        ("falcon-7b", ["attention,mlp", "q,k,v,dense,dense_h_to_4h,dense_4h_to_h", "all-linear"]),
        ("gpt2", ["attention,mlp", "q,k,v,c_proj,c_fc", "all-linear"]),
        ("phi-2", ["attention,mlp", "q_proj,k_proj,v_proj,dense,fc1,fc2", "all-linear"]),
        ("bert-base-uncased", ["attention,mlp", "query,key,value,dense"]),
        ("t5-base", ["attention,mlp", "q,k,v,o,wi,wo", "all-linear"]),
        ("mamba-130m", ["x_proj,dt_proj,in_x,in_z,out_proj", "all-linear"]),
        ("deepseek-v2-lite", ["attention,gate_proj,up_proj,down_proj,experts", "all-linear"]),
        ("rwkv4-169m", ["key,value,receptance,output", "all-linear"]),
    ],
)  # fmt: skip
def test_a_spelling_changes_nothing(name: str, spellings: list[str]) -> None:
    assert len({frozenset(_products(name, one)) for one in spellings}) == 1


def test_groups_are_made_of_what_a_model_has() -> None:
    """Hybrids: attention is that of some layers, experts stand beside dense layers."""
    jamba = {name for pair in _products("jamba-v0.1", "mlp") for name in pair}
    assert jamba == {
        "gate", "up", "down", "experts.gate", "experts.up", "experts.down"
    }  # fmt: skip
    latent = {name for pair in _products("deepseek-v3", "attention") for name in pair}
    assert latent == {"q_a", "q_b", "kv_a", "kv_b", "o"}
    whole = {name for pair in _products("jamba-v0.1", "all-linear") for name in pair}
    assert whole >= {"in_x", "in_z", "x", "dt", "out", "q", "k", "v", "o"}
    assert "router" not in whole
    assert "lm_head" not in whole


def test_fused_names_are_one_layer_in_every_framework() -> None:
    assert _products("llama3-8b", "qkv_proj") == {("q", "k", "v")}
    assert _products("llama3-8b", "gate_up_proj,c_attn") == {("gate", "up"), ("q", "k", "v")}
    assert _products("phi-3-mini", "all-linear", "huggingface") == {
        ("q", "k", "v"), ("o",), ("gate", "up"), ("down",)
    }  # fmt: skip


@pytest.mark.parametrize("framework", ["generic", "huggingface"])
@pytest.mark.parametrize("name", ["foo", "all_linear", "norm", "q,foo", "qproj"])
def test_an_unknown_name_is_no_target(name: str, framework: str) -> None:
    with pytest.raises(UsageError) as caught:
        _trained("llama3-8b", name, framework=framework)
    assert caught.value.exit_code == 2
    assert caught.value.hint


@pytest.mark.parametrize(
    ("model", "name", "framework"),
    [
        ("falcon-7b", "q_proj", "huggingface"),
        ("llama3-8b", "query_key_value", "huggingface"),
        ("falcon-7b", "gate_proj", "generic"),
        ("mamba-130m", "attention", "generic"),
        ("llama3-8b", "experts", "generic"),
        ("llama3-8b", "kv_a_proj_with_mqa", "generic"),
    ],
)
def test_a_name_that_this_model_has_not_is_impossible(
    model: str, name: str, framework: str
) -> None:
    with pytest.raises(ImpossibleError, match=f"{model} has no {name}") as caught:
        _trained(model, name, framework=framework)
    assert caught.value.hint.startswith("it has ")


def test_every_file_of_names_is_one_that_some_card_needs() -> None:
    known = {modules.name for one in cards() if (modules := modules_of(one))}
    assert {one.name for one in MODULES.all()} - known <= {"any", "chatglm", "internlm2"}
    assert modules_of(card("chatglm3-6b")) == MODULES.named("chatglm")

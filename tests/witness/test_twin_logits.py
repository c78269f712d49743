"""The twin computes what the class of transformers computes: same weights, same logits."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from llmcalc.catalog.huggingface import card_from_config

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

import torch
import transformers

from llmcalc.twin.model import ModelTwin
from llmcalc.twin.setting import Kernel, Pass

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

TOKENS, PROMPT = 12, 7
SMALL: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
}  # fmt: skip
LATENT: dict[str, Any] = SMALL | {
    "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8, "v_head_dim": 12, "n_routed_experts": 4, "moe_intermediate_size": 32,
    "n_shared_experts": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 1.0, "n_group": 1,
    "topk_group": 1,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": SMALL,
    "qwen2": SMALL,
    "qwen3": SMALL | {"head_dim": 32},
    "mistral": SMALL | {"sliding_window": 5},
    "mixtral": SMALL | {"num_local_experts": 4, "num_experts_per_tok": 2, "rope_theta": 1e4},
    "qwen3_moe": SMALL
    | {"head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
       "norm_topk_prob": True},
    # every expert chosen: V2 leaves the shares as they are, which sum to one only then
    "deepseek_v2": LATENT | {"num_experts_per_tok": 4, "topk_method": "greedy"},
    "deepseek_v2 without a query latent": LATENT
    | {"num_experts_per_tok": 4, "topk_method": "greedy", "q_lora_rank": None},
    "deepseek_v3": LATENT | {"num_experts_per_tok": 2},
}  # fmt: skip

NAMES = {
    "model.embed_tokens": "ends.embed_tokens", "model.norm.": "ends.final_norm.",
    "lm_head": "ends.lm_head", "model.layers": "layers", "self_attn.": "parts.0.",
    ".mlp.": ".parts.1.", "input_layernorm": "norms.0", "post_attention_layernorm": "norms.1",
    "kv_a_proj_with_mqa": "kv_a_proj", "a_layernorm": "a_norm", "shared_experts": "shared",
    "gate.e_score_correction_bias": "correction_bias",
    "parts.1.gate.weight": "parts.1.router.weight",
}  # fmt: skip
"""Their names of weights and ours, in the order of replacement."""


def _renamed(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Their weights under our names; gate and up of experts are one tensor with them."""
    found = {}
    for key, tensor in weights.items():
        for theirs, ours in NAMES.items():
            key = key.replace(theirs, ours)  # noqa: PLW2901
        if key.endswith("experts.gate_up_proj"):
            layer = key.removesuffix("experts.gate_up_proj")
            found[layer + "gate_proj"], found[layer + "up_proj"] = tensor.chunk(2, dim=1)
        else:
            found[key.replace("experts.down_proj", "down_proj")] = tensor
    return found


def _pair(name: str, kernel: Kernel) -> tuple[Any, ModelTwin]:
    """The class and the twin with one set of random weights, all of them."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name.split(maxsplit=1)[0], **CONFIGS[name])
    config._attn_implementation = kernel
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    twin = ModelTwin(card_from_config(config.to_dict(), "small", "config.json"), kernel=kernel)
    # `strict`: no weight of either is left over
    twin.load_state_dict(_renamed(model.state_dict()), strict=True)
    return model, twin.eval()


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_twin_has_the_logits_of_the_class_at_once_and_step_by_step(
    name: str, kernel: Kernel
) -> None:
    model, twin = _pair(name, kernel)
    tokens = torch.randint(0, 100, (2, TOKENS))
    memory: dict[int, Any] = {}
    with torch.no_grad():
        expected = model(tokens).logits
        whole = twin(tokens)
        steps = [twin(tokens[:, :PROMPT], Pass(positions=torch.arange(PROMPT), memory=memory))]
        for at in range(PROMPT, TOKENS):
            run = Pass(positions=torch.tensor([at]), memory=memory)
            steps.append(twin(tokens[:, at : at + 1], run))
    assert expected.std() > 0.01
    torch.testing.assert_close(whole, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.cat(steps, dim=1), expected, rtol=1e-4, atol=1e-5)

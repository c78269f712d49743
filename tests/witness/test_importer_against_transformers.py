"""The importer against the real classes: parameters on the meta device, windows by gradient.

Skipped where torch and transformers are not installed; they are no dependencies of this project.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.huggingface import MODEL_TYPES, card_from_config
from llmcalc.catalog.huggingface.config import class_defaults
from llmcalc.engines.params import count
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention
from llmcalc.spec.pattern import layer_names

if find_spec("torch") is None or find_spec("transformers") is None:
    pytest.skip("needs torch and transformers, which are not installed", allow_module_level=True)

pytestmark = [pytest.mark.witness, pytest.mark.filterwarnings("ignore")]

DATA = Path(__file__).parents[1] / "data" / "models"
CONFIGS = DATA / "configs"
ELSEWHERE = (
    "encoders", "disentangled", "seq2seq", "translation",
    "multimodal", "qwen_vl", "glm_vl", "gemma_n", "gemma4", "latent", "windows",
)  # fmt: skip
"""Modules of types that count by their class, for which there is a test of its own."""

TYPES = sorted(
    name
    for name in set(MODEL_TYPES) & set(class_defaults()["types"])
    if not MODEL_TYPES[name].__module__.endswith(ELSEWHERE)
)
VARIANTS, TOKENS = 12, 24
ATTENTION = re.compile(r".*\.(?:layers|h|blocks)\.(\d+)\.(?:self_attn|attn|self_attention)")

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4,
    "vocab_size": 300, "intermediate_size": 96, "head_dim": 16,
    "n_routed_experts": 4, "num_local_experts": 4, "num_experts": 4, "moe_num_experts": 4,
    "num_experts_per_tok": 2, "moe_k": 2, "moe_topk": 2, "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 32, "kv_lora_rank": 16, "q_lora_rank": 24, "n_group": 1,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 12, "topk_group": 1,
    "word_embed_proj_dim": 64, "ffn_dim": 100, "intermediate_size_mlp": 56, "rotary_dim": 8,
    "attention_types": [[["global", "local"], 2]], "sliding_window": 6, "window_size": 7,
}  # fmt: skip
"""Sizes of a small model, for the keys that its class knows."""

OWN: dict[str, dict[str, Any]] = json.loads((DATA / "small_recurrent.json").read_text("utf-8"))
"""Sizes of a small recurrent model, by keys that other classes understand otherwise."""

REFUSED = {"deepseek_v2", "glm4_moe"}
"""Class defaults without experts per token, and with heads that do not divide hidden_size."""

BROKEN = {"hunyuan_v1_dense", "hunyuan_v1_moe", "ministral", "nemotron"}
"""Classes of 5.24.0 that cannot be built from their own defaults: a null that nothing replaces."""

FLAGS = """
    tie_word_embeddings attention_bias mlp_bias use_qk_norm use_bias qkv_bias enable_bias bias
    attention_out_bias lm_head_bias do_layer_norm_before layer_norm_elementwise_affine alibi
    new_decoder_architecture multi_query parallel_attn use_parallel_residual use_sliding_window
    use_conv_bias mamba_conv_bias mamba_proj_bias projectors_bias mamba_rms_norm
""".split()  # noqa: SIM905 (a table)
CHOICES: dict[str, list[Any]] = {
    "hidden_size": [96, 128], "num_key_value_heads": [1, 4], "head_dim": [8, 32],
    "num_hidden_layers": [2, 6], "intermediate_size": [48, 80], "vocab_size": [301],
    "first_k_dense_replace": [0, 2, 9], "decoder_sparse_step": [2, 3], "mlp_only_layers": [[0]],
    "n_shared_experts": [0, 2], "shared_intermediate_size": [0, 32], "num_experts": [0, 6],
    "word_embed_proj_dim": [32], "_remove_final_layer_norm": [True], "q_lora_rank": [None],
    "num_ln_in_parallel_attn": [1, 2], "num_kv_heads": [1, 2, 4], "ffn_hidden_size": [100],
    "n_inner": [100], "moe_num_shared_experts": [0, 1], "moe_layer_start_index": [0, 2],
    "moe_layer_end_index": [1, 9], "moe_layer_interval": [2], "moe_layers": [[], [1]],
    "interleave_moe_layer_step": [2], "no_rope_layers": [[1, 0, 1, 1]], "max_window_layers": [0, 2],
    "layer_types": [["full_attention"] * 4, ["sliding_attention", "full_attention"] * 2],
    "sliding_window": [None, 3], "architectures": [["headless"]],
    "conv_kernel": [3], "mamba_d_conv": [2], "state_size": [4], "time_step_rank": ["auto", 5],
    "attention_hidden_size": [48], "attn_layer_period": [2, 5], "expert_layer_period": [1, 3],
    "hybrid_override_pattern": ["MM*", "-*E"], "moe_latent_size": [20], "mamba_d_ssm": [None],
    "linear_num_value_heads": [2, 8], "linear_conv_kernel_dim": [3], "n_groups": [1, 4],
}  # fmt: skip
"""What a variant may say instead."""


def small(model_type: str) -> dict[str, Any]:
    """A small config with the keys that its class knows."""
    facts = class_defaults()["types"][model_type]
    named = {facts["aliases"].get(key, key): value for key, value in SMALL.items()}
    known = {key: value for key, value in named.items() if key in facts["defaults"]}
    return {"model_type": model_type, "pad_token_id": None} | known | OWN.get(model_type, {})


def variants(model_type: str) -> list[dict[str, Any]]:
    """The small config and seeded changes of it, one to four keys each."""
    rng = random.Random(model_type)  # noqa: S311 (the same variants every time)
    base = small(model_type)
    facts = class_defaults()["types"][model_type]
    known = {*base, *facts["defaults"], "architectures"}
    named = {facts["aliases"].get(key, key): key for key in [*FLAGS, *CHOICES]}
    keys = [key for key in named if key in known]
    made = [base]
    for _ in range(VARIANTS):
        some = rng.sample(keys, rng.randint(1, min(4, len(keys))))
        change = {key: rng.choice(CHOICES.get(named[key], [True, False])) for key in some}
        if "architectures" in change:
            change["architectures"] = [headless(model_type)]
        made.append(base | change)
    return made


def headless(model_type: str) -> str:
    """The class without a language-model head."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    name = MODEL_MAPPING_NAMES[model_type]
    return name if isinstance(name, str) else name[0]


def model(data: dict[str, Any], device: str) -> Any:
    """The class that a config names, on a device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import transformers
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

        data = json.loads(json.dumps(data))
        config = transformers.CONFIG_MAPPING[data["model_type"]].from_dict(data)
        default = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[data["model_type"]]
        name = (data.get("architectures") or [default])[0]
        built = getattr(transformers, name, None) or getattr(transformers, default)
        with torch.device(device):
            return built._from_config(config, attn_implementation="eager")


def learned(data: dict[str, Any]) -> int | None:
    """The parameters of the real class, tied ones once; None where the class refuses the config."""
    try:
        built = model(data, "meta")
    except Exception:  # noqa: BLE001 (any error means that no such model exists)
        return None
    return sum(int(weight.numel()) for weight in built.parameters())


@pytest.mark.parametrize("model_type", TYPES)
def test_variants_count_like_their_class(model_type: str) -> None:
    """Every variant is refused or counted to the integer, and the small config is counted."""
    agreed = 0
    for data in variants(model_type):
        try:
            found = count(lower(card_from_config(data, "m", "c"))).total
        except InvalidFileError:
            continue
        truth = learned(data)
        if truth is not None:
            assert found == truth, data
            agreed += 1
    assert agreed > VARIANTS // 4


@pytest.mark.parametrize("model_type", TYPES)
def test_class_defaults_count_like_their_class(model_type: str) -> None:
    """A config that says nothing but its type has the sizes of its class."""
    data = {"model_type": model_type}
    truth = learned(data)
    try:
        found = count(lower(card_from_config(data, "m", "c"))).total
    except InvalidFileError:
        assert model_type in REFUSED
        return
    assert truth == (None if model_type in BROKEN else found)


def test_open_models_count_like_their_class() -> None:
    """Every config of the open data whose class exists counts as that class does."""
    checked = 0
    for path in sorted(CONFIGS.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("model_type") in TYPES:
            assert count(lower(card_from_config(data, "m", "c"))).total == learned(data), path.stem
            checked += 1
    assert checked > 150


def seen(data: dict[str, Any]) -> list[int]:
    """Tokens that reach the last one through the attention of each layer, by gradient."""
    import torch

    torch.manual_seed(0)
    built, reached = model(data, "cpu").eval().float(), {}

    def keep_input(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        named = "hidden_states" in kwargs
        hidden = kwargs["hidden_states"] if named else args[0]
        module.witness = hidden.detach().requires_grad_()
        if named:
            return args, kwargs | {"hidden_states": module.witness}
        return (module.witness, *args[1:]), kwargs

    def look_back(module: Any, _args: Any, _kwargs: Any, out: Any) -> None:
        last = (out[0] if isinstance(out, tuple) else out)[0, -1].sum()
        (slope,) = torch.autograd.grad(last, module.witness, retain_graph=True)
        reached[module.layer_number] = int((slope[0].abs().sum(-1) > 0).sum())

    for name, module in built.named_modules():
        found = ATTENTION.fullmatch(name)
        if found:
            module.layer_number = int(found[1])
            module.register_forward_pre_hook(keep_input, with_kwargs=True)
            module.register_forward_hook(look_back, with_kwargs=True)
    built(input_ids=torch.arange(1, TOKENS + 1)[None], use_cache=False)
    return [reached[layer] for layer in sorted(reached)]


def windows(card: ModelCard) -> list[int]:
    """Tokens that a query sees in each layer, as the card says, of TOKENS at most."""
    first = [card.blocks[name].parts[0] for name in layer_names(card.layers)]
    return [
        min(TOKENS, (part.window if isinstance(part, Attention) else None) or TOKENS)
        for part in first
    ]


WINDOWS = {"sliding_window", "window_size"}
SLIDING = [n for n in TYPES if WINDOWS & {*class_defaults()["types"][n]["defaults"]}]
SLIDING.remove("nemotron_h")  # knows the key and has no window


@pytest.mark.parametrize("model_type", SLIDING)
def test_windows_are_what_the_class_lets_a_query_see(model_type: str) -> None:
    """The window of each layer, the query included, is what gradients of the real class show."""
    base = small(model_type)
    for change in ({}, {"max_window_layers": 2, "use_sliding_window": True}):
        data = base | {k: v for k, v in change.items() if k in base or not k.startswith("max")}
        try:
            card = card_from_config(data, "m", "c")
        except InvalidFileError:
            assert change  # the small config itself is understood
            continue
        assert windows(card) == seen(data), data

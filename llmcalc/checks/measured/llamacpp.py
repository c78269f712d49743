"""What a start of llama.cpp or its fork ik_llama.cpp configured."""

from __future__ import annotations

import re

from llmcalc.checks.measured import engines
from llmcalc.checks.measured.case import Aspect, Case
from llmcalc.checks.measured.cells import number, switch, text, whole
from llmcalc.checks.measured.formats import file_type, kv_formats
from llmcalc.checks.measured.models import facts_of, model
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import LatentAttention, Moe
from llmcalc.spec.settings import Settings

_RECIPES = re.compile(r"unsloth|\bUD\b|ubergarm", re.IGNORECASE)
"""Publishers whose files mix types tensor by tensor, whatever file type they carry."""
_FLASH_BY_ITSELF = "2025-09"
"""Month since which it is on wherever it can be: https://github.com/ggml-org/llama.cpp/pull/15434."""


def llamacpp(config: Cells) -> Case:
    """The case of one start. Raises Unusable where it says too little."""
    runtime, group = engines.engine(text(config, "engine") or "llama.cpp", text(config, "date"))
    if not runtime.startswith("llama.cpp"):
        raise Unusable(f"{runtime} does not log what llama.cpp logs")
    card = model(config)
    missing: dict[Aspect, str] = {}
    keys, values = _cache(config, card, missing)
    context = whole(config, "n_ctx")
    if context is None:
        missing["cache"] = missing["scratch"] = "n_ctx is not stated"
    if group != "llama.cpp":
        missing["scratch"] = f"the compute graph of {group} is another one"
        if any(isinstance(part, Moe) for block in card.blocks.values() for part in block.parts):
            missing["devices"] = "experts may be placed one by one (-ot), which no column tells"
    if _several(config):
        missing["scratch"] = "the copies of a graph over several devices are not predicted"
    return Case(
        card=card,
        runtime=runtime,
        weights=_weights(config, card, missing),
        keys=keys,
        values=values,
        settings=Settings(
            max_model_len=context,
            ubatch_size=whole(config, "n_ubatch"),
            parallel=1,
            n_gpu_layers=_on_device(config, missing),
            flash_attn=_flash(config),
        ),
        seq=context or 1,
        missing=missing,
    )


def _weights(config: Cells, card: ModelCard, missing: dict[Aspect, str]) -> str:
    """The file type, or 16 bits and a note why the bytes of the file are not known."""
    resized = facts_of(config).resized(card)
    if resized:
        missing["weights"] = resized
    elif _RECIPES.search(config.get("model", "")):
        missing["weights"] = "the publisher's recipe gives tensors other types than the file type"
    try:
        return file_type(text(config, "ftype"))
    except Unusable as why:
        missing.setdefault("weights", str(why))
        return "f16"


def _cache(config: Cells, card: ModelCard, missing: dict[Aspect, str]) -> tuple[str, str]:
    """Formats of keys and values; a cache of another form than our engine's leaves a note."""
    written = (text(config, "cache_type") or "").lower()
    latent = any(
        isinstance(part, LatentAttention) for block in card.blocks.values() for part in block.parts
    )
    if latent and "c^kv" not in written and written.startswith("k ("):
        missing["cache"] = "keys and values of latent attention are cached expanded"
    try:
        return kv_formats(written, "fp16")
    except Unusable as why:
        missing["cache"] = str(why)
        return "fp16", "fp16"


def _on_device(config: Cells, missing: dict[Aspect, str]) -> int | None:
    """Layers on the device, of `33/33`; all where it does not say."""
    written = text(config, "n_gpu_layers")
    if written is None:
        return None
    match = re.match(r"(\d+)(?:/\d+)?$", written)
    if match is None:
        missing["devices"] = f"n_gpu_layers {written!r} is no number of layers"
        return None
    return int(match[1])


def _flash(config: Cells) -> bool | None:
    """Whether flash attention is on; before it was the default, silence meant off."""
    said = switch(config, "flash_attn")
    date = text(config, "date") or ""
    return False if said is None and date < _FLASH_BY_ITSELF else said


def _several(config: Cells) -> bool:
    """Whether several devices share the layers; a log that names none has one."""
    named = re.search(r"_(\d)$", config.get("devices", ""))
    return (number(config, "n_dev") or 1) > 1 or (named is not None and int(named[1]) > 1)

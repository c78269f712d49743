"""Models as llama-bench prints them: architecture, size, file type, and parameters beside it.

`llama 7B` is LLaMA, Llama 2 or Mistral; only the printed number of parameters tells which.
"""

from __future__ import annotations

import re

from llmcalc.checks.measured.catalog import cards
from llmcalc.checks.measured.cells import text
from llmcalc.checks.measured.model_facts import Facts, chosen
from llmcalc.checks.measured.model_names import named
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.card import ModelCard
from llmcalc.spec.parts import Attention

_FILE_TYPE = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(I?Q\d(?:_[A-Z0-9]+)*(?: - (?:Small|Medium|Large))?|MXFP4(?: MoE)?|BF16|F16|F32)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_ARCHITECTURE = re.compile(r"([a-z][a-z0-9_-]*) \d")
_LLAMA_LIKE = frozenset({"llama", "mistral", "tinyllama", "yi", "smollm", "deepseek", "granite"})
"""Families whose plain models llama.cpp files under the architecture `llama`."""


def file_type_of(config: Cells) -> str | None:
    """The file type that a column `quant` or the model's own text tells, before its file's name."""
    written = text(config, "quant")
    if written:
        return {"int8": "Q8_0", "int4": "Q4_K_M"}.get(written.lower(), written)
    model = config.get("model", "")
    match = _FILE_TYPE.search(model.partition("[")[0]) or _FILE_TYPE.search(model)
    return match[1] if match else None


def benched(config: Cells) -> ModelCard:
    """The card of a row by its name, corrected by the printed parameters; or Unusable."""
    name, params = text(config, "model"), printed(config)
    if name is None:
        raise Unusable("the model is not named")
    found = list(named(name))
    size = Facts(params=params)
    if params and (not found or all(size.resized(card) for card in found)):
        # A file without towers holds less than its card: only another card's exact size overrules.
        found = _of_size(size, name) or found
    if not found:
        raise Unusable(f"model {name!r} is not in the catalog")
    return chosen(found, name)


def printed(config: Cells) -> str | None:
    """Parameters as `8.03 B`; a plain number is in billions too."""
    written = text(config, "params_b")
    if written is None:
        return None
    return written if written.upper().endswith(("B", "M")) else f"{written} B"


def _of_size(size: Facts, name: str) -> list[ModelCard]:
    """Cards of the architecture that the text starts with and of exactly this size.

    Those that bear its name go before others: `llama 70B` is Llama 2 rather than Code Llama.
    """
    match = _ARCHITECTURE.match(name.lower())
    if match is None:
        return []
    wanted = match[1].rstrip("0123456789._-")
    found = [card for card in cards().values() if _files(card, wanted) and size.rounded(card)]
    return [card for card in found if card.name.startswith(wanted)] or found


def _files(card: ModelCard, architecture: str) -> bool:
    """Whether llama.cpp files a card under an architecture; its `llama` knows no windows."""
    if architecture != "llama":
        return architecture.startswith(card.family)
    parts = (part for block in card.blocks.values() for part in block.parts)
    plain = all(part.window is None for part in parts if isinstance(part, Attention))
    return card.family in _LLAMA_LIKE and plain

"""From the names that logs write to cards of the catalog."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from llmcalc.catalog.shelf import canonical
from llmcalc.checks.measured.catalog import cards
from llmcalc.spec.card import ModelCard

_FILE = re.compile(r"(\.gguf|\.safetensors)?(-\d{5}-of-\d{5})?(\.gguf)?$")
_INSIDE = re.compile(r"\(([a-z][a-z0-9.-]+)\)")
"""One word in brackets, as somebody adds which model it was: `llama 1B Q4_K_M (TinyLlama)`."""
_ASIDE = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
"""Remarks in brackets: `(36L/8kv)`, `(+MTP)`."""
_FTYPE = re.compile(
    r"[ ._-]*(?<![a-z0-9])(ud-)?i?q\d(_[a-z0-9]+)*( - (small|medium|large))?(?![a-z0-9])"
)
"""How llama.cpp names a file type: `Q4_K - Medium`, `UD-Q4_K_XL`."""
_FILE_NAME = re.compile(r"\[([^\]]+)\]?")
"""llama-bench tables put the file beside the type: `qwen3 32B Q8_0 [Qwen3-32B-Q8_0]`."""
_WORDS = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")

_TUNED = (
    "instruct|inst|chat|it|pt|base|hf|thinking|reasoning|sft|dpo|rlhf|preview|latest|text|vision|"
    "class|original|qat|zh|abliterated|uncensored|lora|mtp|deduped|2\\d(?:0[1-9]|1[0-2])|"
    "0[1-9](?:[0-2]\\d|3[01])|1[0-2](?:[0-2]\\d|3[01])|v\\d(?:\\.\\d)?"
)
"""Words after a name that leave the shapes as they are; dates as 2507 (year, month) or 0324."""
_STORED = (
    "gguf|ggml|bf16|fp16|f16|f32|fp32|float16|bfloat16|fp8|fp4|int8|int4|w\\d+a\\d+|g\\d+|gs\\d+|"
    "awq|gptq|exl2|exl3|mlx|nvfp4|mxfp4|mxfp8|bnb|nf4|4bit|8bit|4|8|bit|bits|quantized|quant|w4|w8|"
    "dynamic|block|static|e4m3|fp8dynamic|ud|imatrix|marlin|compressed|tensors|autoround|hqq|"
    "i?q\\d(?:_\\w+)?|xxs|xs|xl|s|m|l|k|xxl|moe|0|1|r4|r8|\\d{5}"
)
"""Words after a name that say how the weights are stored."""
_TAIL = re.compile(f"(?:{_TUNED}|{_STORED})$")
_HEAD = re.compile(
    r"(?:meta|nvidia|unsloth|models?|bartowski|mlx|neuralmagic|redhatai|ibm|tii|google|openai|qwen|"
    r"mistralai|deepseek|nousresearch|casperhansen|thebloke|amd|intel|microsoft|the)$"
)
"""Words before a name that say who made the file."""

_SAME_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:deepseek)?r1distill(qwen[\d.]+b|llama[\d.]+b)"), r"r1distill\1"),
    (re.compile(r"r1distillqwen([\d.]+b)"), r"qwen2.5\1"),
    (re.compile(r"deepseekr1(1\.5b|7b|14b|32b)"), r"r1distillqwen\1"),
    (re.compile(r"deepseekr1(8b|70b)"), r"r1distillllama\1"),
    (re.compile(r"r1distillqwen14b"), "qwen2.514b"),
    (re.compile(r"qwen2\.5(?:coder|math)([\d.]+b)"), r"qwen2.5\1"),
    (re.compile(r"qwen3coder30ba3b"), "qwen330ba3b"),
    (re.compile(r"deepseekv2\.5"), "deepseekv2"),
    (re.compile(r"deepseekcoderv2(lite)?"), r"deepseekv2\1"),
    (re.compile(r"deepseekv3\.1terminus"), "deepseekv3"),
    (re.compile(r"llama(8b|70b)"), r"llama3\1"),
    (re.compile(r"minimaxm2\.[17]"), "minimaxm2"),
    (re.compile(r"(gptj|llama270b)99(?:\.9)?"), r"\1"),
    (re.compile(r"gptj"), "gptj6b"),
    (re.compile(r"tinyllama"), "tinyllama1.1b"),
)
"""Spellings of models that have the shapes of another, in the order they are tried: distilled and
further trained ones, by the cards on the hub that name their base; ollama's deepseek-r1:14b;
llama-bench's `llama 8B`; MLPerf's names, which end on the share of the accuracy to be kept."""


def named(text: str) -> tuple[ModelCard, ...]:
    """The cards that a text can mean: none, one, or several that bear the same name."""
    if exact := _exact().get(canonical(text)):
        return (exact,)
    index = _index()
    for part in _parts(text.lower()):
        for key in _keys(part):
            if key in index:
                return index[key]
    return ()


def _parts(text: str) -> Iterator[str]:
    """Where a name can stand: a file in brackets, behind an organisation, before another model."""
    if file := _FILE_NAME.search(text):
        yield file[1]
    plain = _ASIDE.sub("", text).strip()
    *before, last = plain.split("/")
    yield last
    if before and re.search(r"\d", before[-1]):
        yield before[-1]
    yield from _INSIDE.findall(text)


def _keys(text: str) -> Iterator[str]:
    """Ever shorter spellings of a name, each also as the model whose shapes it has."""
    for words in _shorter(_words(text)):
        key = "".join(words)
        yield key
        for pattern, base in _SAME_SHAPES:
            if pattern.fullmatch(key):
                key = pattern.sub(base, key)
                yield key


def _words(text: str) -> list[str]:
    """A name in lower-case words, without organisation, file ending or file type."""
    plain = _FTYPE.sub("", _FILE.sub("", text.rpartition("/")[2].lower()))
    return _WORDS.findall(re.sub(r"[_:\s+-]+|(?<=[a-z])\.(?=[a-z])", " ", plain))


def _shorter(words: list[str]) -> Iterator[list[str]]:
    """The words, then without those at the end that name a tuning or a format, or an origin."""
    while words:
        yield words
        for first in range(1, len(words)):
            if not _HEAD.match(words[first - 1]):
                break
            yield words[first:]
        if not _TAIL.match(words[-1]):
            return
        words = words[:-1]


@cache
def _exact() -> dict[str, ModelCard]:
    """Cards by name and alias as the catalog compares them."""
    also = {canonical(name): card for card in cards().values() for name in card.aliases}
    return also | {canonical(name): card for name, card in cards().items()}


@cache
def _index() -> dict[str, tuple[ModelCard, ...]]:
    """Cards by spelling; a card's own name goes before an alias of another."""
    own: defaultdict[str, dict[str, ModelCard]] = defaultdict(dict)
    also: defaultdict[str, dict[str, ModelCard]] = defaultdict(dict)
    for card in cards().values():
        own["".join(_words(card.name))][card.name] = card
        for key in _spellings(card.aliases):
            also[key][card.name] = card
    found = {key: tuple(cards.values()) for key, cards in also.items()}
    return found | {key: tuple(cards.values()) for key, cards in own.items()}


def _spellings(names: Iterable[str]) -> Iterator[str]:
    return ("".join(_words(name)) for name in names)

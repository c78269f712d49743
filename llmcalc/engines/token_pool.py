"""How much does a pool hold? Tokens, window tokens and state slots in what is left of a GPU.

The pool is laid out once, when the engine starts: each sequence takes tokens from it, and a slot
for the states of its recurrences. Formulas of SGLang: https://github.com/sgl-project/sglang,
python/sglang/srt/model_executor/pool_configurator.py and
python/sglang/srt/mem_cache/kv_cache_configurator.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.formula import formula

_CONFIGURATOR = "SGLang, python/sglang/srt/mem_cache/kv_cache_configurator.py"
_POOLS = "SGLang, python/sglang/srt/model_executor/pool_configurator.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Bytes of what a pool is made of, on one rank."""

    token: int
    """Of one token in the layers that keep all."""
    window_token: int = 0
    """Of one token in the layers that keep a window."""
    slot: int = 0
    """Of the states of one sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How an engine divides the room; the defaults are SGLang's (server_args.py)."""

    page: int = 1
    """Tokens handed out together (--page-size)."""
    window_share: float = 0.8
    """Tokens that window layers have room for, of those that the others have
    (--swa-full-tokens-ratio)."""
    state_ratio: float = 0.9
    """Bytes of states over bytes of tokens (--mamba-full-memory-ratio)."""
    slots_per_sequence: int = 3
    """Slots of each running sequence, cached prefixes included (kv_cache_configurator.py,
    _calculate_mamba_ratio): 3, with extra buffers 5, and 1 without a radix cache."""
    spare_slots: int = 1
    """Slots beside those for sequences, which padded batches write to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What fits."""

    tokens: int
    window_tokens: int
    slots: int
    cache_bytes: int
    """Of all tokens, a page for padded batches included."""
    state_bytes: int
    """Of all slots, the spare one included."""


@formula(
    "int(before · fraction) - weights - reserved",
    source=f"{_CONFIGURATOR}, _profile_available_bytes: free now - free before loading · "
    "(1 - mem_fraction_static), what is free now being free before loading - weights",
    unit="bytes",
    basis="modelled",
)
def pool_bytes(*, before: int, fraction: float, weights: int, reserved: int) -> int:
    """What is left for the pool of the bytes free before loading."""
    return int(before * fraction) - weights - reserved


@formula(
    "int(room · ratio / (1 + ratio) / slot) - spare",
    source=f"{_CONFIGURATOR}, _handle_max_mamba_cache",
    unit="slots",
    basis="modelled",
)
def state_slots(*, room: int, ratio: float, slot: int, spare: int) -> int:
    """Sequences whose states fit beside the tokens, where their number is not asked for."""
    return int(room * ratio / (1 + ratio) / slot) - spare


@formula(
    "int(room / (token + share · window_token))",
    source=f"{_POOLS}, HybridSWAPoolConfigurator: window tokens = share · tokens",
    unit="tokens",
    basis="modelled",
)
def pool_tokens(*, room: int, token: int, share: float, window_token: int) -> int:
    """Tokens whose keys and values fit."""
    return int(room / (token + share * window_token))


def fill(
    room: int,
    contents: Contents,
    rules: Rules,
    *,
    slots: int | None = None,
    most_tokens: int | None = None,
) -> Pool:
    """The pool that `room` bytes make; `slots` and `most_tokens` where they are asked for.

    SGLang is asked for slots by --max-mamba-cache-size, or by --max-running-requests without a
    radix cache, and for tokens by --max-total-tokens.
    """
    slots = _slots(room, contents, rules, slots)
    states = (slots + rules.spare_slots) * contents.slot if contents.slot else 0
    # Without a layer that keeps all, tokens are those of the windows.
    share = rules.window_share if contents.token else 1.0
    tokens = 0
    if contents.token or contents.window_token:
        tokens = pool_tokens(
            room=max(0, room - states), token=contents.token, share=share,
            window_token=contents.window_token,
        )  # fmt: skip
    tokens = min(tokens, most_tokens or tokens) // rules.page * rules.page
    windowed = int(tokens * share) // rules.page * rules.page if contents.window_token else 0
    return Pool(
        tokens=tokens,
        window_tokens=windowed,
        slots=slots,
        cache_bytes=_stored(tokens, contents.token, rules.page)
        + _stored(windowed, contents.window_token, rules.page),
        state_bytes=states,
    )


def _slots(room: int, contents: Contents, rules: Rules, asked: int | None) -> int:
    if not contents.slot:
        return 0
    if asked is not None:
        return asked
    found: int = state_slots(
        room=room, ratio=rules.state_ratio, slot=contents.slot, spare=rules.spare_slots
    )
    return max(0, found)


def _stored(tokens: int, token_bytes: int, page: int) -> int:
    """Bytes of the tensors of so many tokens, which have a page more for padded batches.

    SGLang, python/sglang/srt/mem_cache/memory_pool.py: the buffers are size + page_size long.
    """
    return (tokens + page) * token_bytes if token_bytes else 0

"""A cache in a pool of tokens, with slots for states beside it, as SGLang lays it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmcalc.blueprint.operations import Cache, Ledger, Operation, State
from llmcalc.engines.holding import whole_sequences
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.serving import Serving
from llmcalc.engines.token_pool import Contents, Pool, Rules, fill
from llmcalc.formula import formula
from llmcalc.spec.runtime import PoolCache

_SCALED = 128
"""Elements of an indexer's key, or of a latent beside one, that share a float32 scale: SGLang,
python/sglang/srt/mem_cache/memory_pool.py, DSATokenToKVPool.quant_block_size."""

RECURRENT_BYTES = 4
"""Of an element of a recurrent state, whatever the model computes in: SGLang's mamba_ssm_dtype is
float32 where neither the model nor the user says another; inputs of convolutions have 16 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """Tokens and slots that sequences take from one pool, which divides its room by fixed rules."""

    contents: Contents
    rules: Rules
    windows: tuple[int, ...] = ()
    """Tokens that window layers keep of each sequence, the longest deciding."""

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window."""
        return self.contents.token + self.contents.window_token

    @property
    def state_bytes(self) -> int:
        """Bytes of one sequence that do not grow."""
        return self.contents.slot

    def cache(self, batch: int, seq: int) -> int:
        """Bytes of the tokens that the pool must have, with what goes with its slots."""
        return max(self._tokens_needed(batch, seq), self._beside_slots(batch))

    def state(self, batch: int) -> int:
        """Bytes of the slots that the sequences take, a spare one included."""
        if not self.contents.slot:
            return 0
        slots = batch * self.rules.slots_per_sequence + self.rules.spare_slots
        return slots * self.contents.slot

    def tokens(self, room: int, longest: int) -> int | None:  # noqa: ARG002
        """Tokens that the engine reports."""
        return self._pool(room).tokens if self.bytes_per_token else None

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of the longest length whose tokens and slots fit."""
        pool, found = self._pool(room), []
        if self.contents.token:
            found.append(pool.tokens / self._paged(longest))
        if self.contents.window_token:
            found.append(pool.window_tokens / self._windowed(longest))
        if self.contents.slot:
            found.append(float(pool.slots // self.rules.slots_per_sequence))
        return min(found, default=None)

    def explain(self, batch: int, seq: int) -> None:
        """Record the tokens of the pool times their bytes."""
        pooled_bytes(
            tokens=self._pool_tokens(batch, seq), token=self.contents.token,
            share=self._share, window_token=self.contents.window_token,
        )  # fmt: skip

    def explain_room(self, room: int, longest: int) -> None:
        """Record how many sequences the tokens of the pool are."""
        if self.contents.token:
            whole_sequences(room=self._pool(room).tokens, one=self._paged(longest))

    def _pool(self, room: int) -> Pool:
        return fill(max(0, room), self.contents, self.rules)

    @property
    def _share(self) -> float:
        return self.rules.window_share if self.contents.token else 1.0

    def _paged(self, tokens: int) -> int:
        return -(-tokens // self.rules.page) * self.rules.page

    def _windowed(self, tokens: int) -> int:
        return self._paged(min(tokens, max(self.windows, default=tokens) + self.rules.page))

    def _pool_tokens(self, batch: int, seq: int) -> int:
        """Tokens of a pool that has room for all sequences, in windows too."""
        needed = batch * self._paged(seq) if self.contents.token else 0
        if self.contents.window_token:
            needed = max(needed, -int(-batch * self._windowed(seq) // self._share))
        return needed

    def _tokens_needed(self, batch: int, seq: int) -> int:
        needed: int = pooled_bytes(
            tokens=self._pool_tokens(batch, seq), token=self.contents.token,
            share=self._share, window_token=self.contents.window_token,
        )  # fmt: skip
        return needed

    def _beside_slots(self, batch: int) -> int:
        """Bytes of tokens in a pool whose share of states is just enough."""
        return int(self.state(batch) / self.rules.state_ratio)


@formula(
    "ceil(tokens · (token + share · window_token))",
    source="SGLang, python/sglang/srt/model_executor/pool_configurator.py",
    unit="bytes",
)
def pooled_bytes(*, tokens: int, token: int, share: float, window_token: int) -> int:
    """Bytes of a pool of so many tokens, and its share of them in windows."""
    return -int(-tokens * (token + share * window_token) // 1)


def in_pool(form: PoolCache, rank: Ledger, formats: KvFormats, serving: Serving) -> Pooled:
    """The cache of one rank."""
    full = windowed = slot = 0
    windows = set()
    for section in rank.sections:
        for operation, size in _sizes(section.operations, formats):
            if isinstance(operation, State):
                slot += size * section.times
            elif operation.window:
                windowed += size * section.times
                windows.add(operation.window)
            else:
                full += size * section.times
    return Pooled(
        contents=Contents(token=full, window_token=windowed, slot=slot),
        rules=Rules(page=serving.settings.block_size or form.page),
        windows=tuple(sorted(windows)),
    )


def _sizes(
    operations: Sequence[Operation], formats: KvFormats
) -> Iterator[tuple[Cache | State, int]]:
    """Bytes of a token in each cache, and of each state."""
    sparse = any(isinstance(one, Cache) and one.indexes for one in operations)
    for one in operations:
        if isinstance(one, State):
            if one.tokens:
                yield one, formats.bytes(one.keys, one.elements - one.keys)
            else:
                yield one, one.elements * (RECURRENT_BYTES if one.recurrence else 2)
        elif isinstance(one, Cache):
            yield one, _token_bytes(one, formats, sparse=sparse)


def _token_bytes(cache: Cache, formats: KvFormats, *, sparse: bool) -> int:
    """Bytes of one token in one layer; keys of an indexer are float8 with a scale.

    So is a float8 latent beside one, its rotary part apart in 16 bits (SGLang,
    python/sglang/srt/mem_cache/kv_cache_configurator.py, calculate_mla_kv_cache_dim).
    """
    if cache.indexes:
        return cache.keys + 4 * -(-cache.keys // _SCALED)
    if sparse and formats.keys.bits == 8:  # noqa: PLR2004  float8
        r_kv, d_r = cache.dims["r_kv"], cache.dims["d_r"]
        return r_kv + 4 * -(-r_kv // _SCALED) + 2 * d_r
    return formats.bytes(cache.keys, cache.elements - cache.keys)

"""How much does llama.cpp cache? Cells of keys and values by pool, and recurrent states.

A cache is a number of cells a sequence stream; layers with a window have a smaller pool of their
own. Rules read off the engine's log and its source (build 11549, 2026-10:
https://github.com/ggml-org/llama.cpp, src/llama-context.cpp, src/llama-kv-cache-iswa.cpp,
src/llama-memory-recurrent.cpp); tests compare with what the engine answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.blueprint.operations import AttentionProduct, Cache, Ledger, Section, State
from llmcalc.engines.kv_format import KV_FORMATS, KvFormats
from llmcalc.formula import formula

F16 = KvFormats(keys=KV_FORMATS["fp16"], values=KV_FORMATS["fp16"])
STATE_BYTES = 4
"""Recurrent states are float32 whatever the cache is stored in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """How one server is started, under llama.cpp's names."""

    n_ctx: int = 4096
    """Tokens over all slots together."""
    n_parallel: int = 1
    """Slots: sequences at once."""
    n_batch: int = 2048
    n_ubatch: int = 512
    kv_unified: bool = False
    """All slots share one stream of cells instead of having one each."""
    pad: int = 256
    """Cells come in multiples of it; 32 without flash attention in builds before late 2025."""
    pad_window: bool = True
    """Whether the pool of windowed layers is padded too, as since late 2025."""

    @property
    def streams(self) -> int:
        """Separate runs of cells."""
        return 1 if self.kv_unified else self.n_parallel

    @property
    def cells(self) -> int:
        """Cells of one stream: the context that one slot can fill."""
        whole = padded(self.n_ctx, self.pad)
        return padded(whole // self.streams, self.pad)

    @property
    def tokens(self) -> int:
        """Tokens computed at once: a micro-batch is no larger than a batch or the context."""
        return min(self.n_ubatch, self.n_batch, self.n_ctx)

    def window_cells(self, window: int) -> int:
        """Cells of one stream for layers that see `window` tokens."""
        found: int = window_cells(
            cells=self.cells, window=window, sequences=self.n_parallel // self.streams,
            tokens=self.tokens, pad=self.pad if self.pad_window else 1,
        )  # fmt: skip
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One line of the engine's log: layers whose caches are equally long."""

    name: str
    cells: int
    """Of one stream."""
    streams: int
    layers: int
    keys: int
    """Bytes."""
    values: int
    """Bytes."""

    @property
    def bytes(self) -> int:
        """Keys and values."""
        return self.keys + self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """All that llama.cpp keeps of the sequences of one server."""

    pools: tuple[Pool, ...]
    state: int
    """Bytes of recurrent states, all slots together."""

    @property
    def cache(self) -> int:
        """Bytes of all pools."""
        return sum(pool.bytes for pool in self.pools)


@formula("ceil(tokens / pad) · pad", source="GGML_PAD, ggml.h of llama.cpp", unit="cells")
def padded_cells(*, tokens: int, pad: int) -> int:
    """The next multiple of `pad`."""
    return -(-tokens // pad) * pad


def padded(tokens: int, pad: int) -> int:
    """The same without a name for each symbol."""
    return -(-tokens // pad) * pad


@formula(
    "ceil(min(cells, window · sequences + tokens) / pad) · pad",
    source="size_swa in src/llama-kv-cache-iswa.cpp of llama.cpp",
    unit="cells",
)
def window_cells(*, cells: int, window: int, sequences: int, tokens: int, pad: int) -> int:
    """Cells that windowed layers hold: what the window sees, and the micro-batch coming in."""
    return padded(min(cells, window * sequences + tokens), pad)


def slides(ledger: Ledger) -> bool:
    """Whether llama.cpp honours the windows of a model.

    It does where windowed and full layers alternate (Gemma, gpt-oss, Command A, Llama 4's chunks).
    Where every layer has a window (Mistral 7B v0.1, Phi-3, StarCoder2) it keeps all tokens.
    """
    windows = {
        operation.window
        for section in (ledger.whole or ledger).sections
        for operation in section.operations
        if isinstance(operation, Cache) and not operation.indexes
    }
    return len(windows) > 1


def padded_values(ledger: Ledger, *, flash: bool) -> tuple[int, int]:
    """Elements that every layer's values are padded to, and layers that hold nothing else.

    Without flash attention the values lie transposed, all layers alike: where layers differ, each
    holds as much as the widest (Gemma 4, MiMo-V2), even one without attention (Nemotron-Super).
    """
    widths, bare, recurrent = set(), 0, False
    for section in (ledger.whole or ledger).sections:
        names = {operation.name for operation in section.operations}
        recurrent = recurrent or "state" in names
        if section.kind == "layer" and "attention" not in names:
            bare += section.times
        widths |= {one.elements - one.keys for one in section.operations if isinstance(one, Cache)}
    bare = 0 if recurrent else bare
    if flash or len(widths) + bool(bare) < 2:  # noqa: PLR2004  all layers alike
        return 0, 0
    return max(widths, default=0), bare


def held(
    ledger: Ledger,
    slots: Slots,
    formats: KvFormats = F16,
    *,
    absorbed: bool = True,
    flash: bool = True,
) -> Held:
    """Pools and states of a model; the ledger must not be cut for tensor parallelism.

    `absorbed`: latent attention caches its latent, once, as keys. False: it caches the keys and
    values of each head (files converted before April 2025, and architectures as MiniCPM3).
    """
    sliding = slides(ledger)
    wide, bare = padded_values(ledger, flash=flash)
    sums: dict[tuple[str, int], list[int]] = {}
    state = 0
    for section in ledger.sections:
        for operation in section.operations:
            if isinstance(operation, State):
                state += operation.elements * section.times
            elif isinstance(operation, Cache):
                window = operation.window if sliding else None
                cells = slots.window_cells(window) if window else slots.cells
                keys, values = _elements(operation, section, absorbed=absorbed)
                values = max(values, wide) if values else 0
                name = "window" if window else operation.name
                total = sums.setdefault((name, cells), [0, 0, 0])
                total[0] += section.times
                total[1] += keys * section.times
                total[2] += values * section.times
    if bare and sums:
        next(iter(sums.values()))[2] += bare * wide
    ordered = sorted(sums.items(), key=lambda item: item[0][0] == "window")
    pools = tuple(_pool(name, cells, one, slots, formats) for (name, cells), one in ordered)
    return Held(pools=pools, state=state * STATE_BYTES * slots.n_parallel)


def _elements(cache: Cache, section: Section, *, absorbed: bool) -> tuple[int, int]:
    """Elements of a token that are keys and values."""
    keys, values = cache.keys, cache.elements - cache.keys
    if absorbed or values or cache.name != "latent":
        return keys, values
    product = next(one for one in section.operations if isinstance(one, AttentionProduct)
                   and one.v_dim)  # fmt: skip
    return product.heads * product.qk_dim, product.heads * product.v_dim


def _pool(name: str, cells: int, total: list[int], slots: Slots, formats: KvFormats) -> Pool:
    layers, keys, values = total
    each = cells * slots.streams
    return Pool(
        name=name, cells=cells, streams=slots.streams, layers=layers,
        keys=formats.bytes(each * keys, 0), values=formats.bytes(0, each * values),
    )  # fmt: skip

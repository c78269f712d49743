"""A cache in cells, and the compute buffer beside it, as llama.cpp lays them out when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import kv
from llmcalc.engines.cells import Held, Slots, held
from llmcalc.engines.graph_buffer import Build, compute_buffer
from llmcalc.engines.holding import whole_sequences
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.part import Part
from llmcalc.engines.serving import Serving
from llmcalc.formula import record_sum, symbol
from llmcalc.spec.runtime import CellCache, GraphScratch
from llmcalc.spec.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How sequences become slots: one a sequence, unless the settings say how many."""

    settings: Settings
    form: CellCache

    @property
    def flash(self) -> bool:
        """Whether attention is computed without its scores."""
        return self.settings.flash_attn is not False

    def slots(self, batch: int, seq: int) -> Slots:
        """Slots for `batch` sequences of `seq` tokens."""
        parallel = self.settings.parallel or batch
        return Slots(
            n_ctx=parallel * seq, n_parallel=parallel, n_ubatch=self.settings.ubatch_size or 512,
            pad=self.form.pad if self.flash else self.form.pad_plain,
            pad_window=self.form.pad_window,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells for every token of every slot, and states of recurrences."""

    rank: Ledger
    formats: KvFormats
    server: Server
    profile: kv.KvProfile

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window, cells not rounded."""
        return self.profile.bytes_per_token

    @property
    def state_bytes(self) -> int:
        """Bytes of the state of one sequence, in float32."""
        return self._held(1, 1).state

    def cache(self, batch: int, seq: int) -> int:
        """Bytes of all cells."""
        return self._held(batch, seq).cache

    def state(self, batch: int) -> int:
        """Bytes of the states of all slots."""
        return self._held(batch, 1).state

    def tokens(self, room: int, longest: int) -> int | None:
        """Cached tokens, over slots of the longest length."""
        if not self.profile.bytes_per_token:
            return None
        return int((self.concurrency(room, longest) or 0) * longest)

    def concurrency(self, room: int, longest: int) -> float | None:
        """Slots of the longest length."""
        one = self._held(1, longest)
        each = one.cache + one.state
        return max(0, room) / each if each else None

    def explain(self, batch: int, seq: int) -> None:
        """Record the pools of cells."""
        pools = self._held(batch, seq).pools
        record_sum(
            "kv_cache",
            {symbol(f"{pool.name} {pool.cells} cells"): pool.bytes for pool in pools},
            "bytes",
        )

    def explain_room(self, room: int, longest: int) -> None:
        """Record the room over what one slot holds."""
        one = self._held(1, longest)
        if each := one.cache + one.state:
            whole_sequences(room=max(0, room), one=each)

    def _held(self, batch: int, seq: int) -> Held:
        return held(self.rank, self.server.slots(batch, seq), self.formats, flash=self.server.flash)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRun:
    """The compute buffer of a micro-batch, laid out for the whole model."""

    form: GraphScratch
    ledger: Ledger
    formats: KvFormats
    server: Server
    build: Build
    _known: dict[Slots, int] = field(default_factory=dict)

    def bytes(self, batch: int, seq: int) -> int:
        """Bytes for slots of so many tokens; remembered, since a search asks again."""
        asked = self.server.slots(batch, seq)
        slots = replace(asked, n_ctx=asked.cells * asked.streams)
        if slots not in self._known:
            self._known[slots] = compute_buffer(
                self.ledger, slots, self.formats, flash=self.server.flash, build=self.build
            )
        return self._known[slots]

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """The one buffer."""
        return (
            Part(name="compute buffer", group="activations", bytes=self.bytes(batch, seq),
                 basis="modelled", source=self.form.source),
        )  # fmt: skip


def in_cells(form: CellCache, rank: Ledger, formats: KvFormats, serving: Serving) -> Cells:
    """The cache of the layers of one device."""
    server = Server(settings=serving.settings, form=form)
    return Cells(rank=rank, formats=formats, server=server, profile=kv.profile(rank, formats))


def graph_run(
    form: GraphScratch, ledger: Ledger, formats: KvFormats, serving: Serving, devices: int
) -> GraphRun:
    """The scratch space of one of so many devices that run this model."""
    cells = serving.runtime.cache
    build = Build(
        mixed_input=form.mixed_input, all_outputs=form.all_outputs,
        cell_indexes=form.cell_indexes, alignment=form.alignment,
        table_on_host=serving.runtime.embedding_on_host and serving.on_device,
        copies=form.copies if devices > 1 else 1,
    )  # fmt: skip
    server = Server(
        settings=serving.settings,
        form=cells if isinstance(cells, CellCache) else CellCache(form="cells"),
    )
    return GraphRun(form=form, ledger=ledger, formats=formats, server=server, build=build)

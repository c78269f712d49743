"""How an engine holds a model: the memory of each GPU by part, and what stays on the host.

Weights and what the engine takes for itself are fixed; the cache and the scratch space grow, as the
engine lays them out (layouts.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.engines import weights
from llmcalc.engines.beside import NOTHING, Beside
from llmcalc.engines.holding import Holding
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.layouts import holding, scratch_space
from llmcalc.engines.part import Part
from llmcalc.engines.placement import placed
from llmcalc.engines.serving import Serving
from llmcalc.engines.stage import Draft, Stage
from llmcalc.formula import Step, is_recording, quietly, record, record_sum, symbol
from llmcalc.spec.quantization import Quantization

GIB = 2**30


def overheads(serving: Serving, *, alone: bool) -> tuple[Part, ...]:
    """What an engine takes for itself on one GPU that works alone or with others."""
    happens = {"always": True, "several": not alone, "graphs": serving.graphs}
    return tuple(
        Part(name=one.name, group="runtime", bytes=one.bytes, basis="modelled", source=one.source)
        for one in serving.runtime.overheads
        if happens[one.when]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A model, how it is stored, and the engine that is started with it on so many ranks."""

    ledger: Ledger
    format: Quantization
    kv: KvFormats
    serving: Serving
    parallel: Parallel
    beside: Beside = NOTHING

    def stages(self) -> tuple[Stage, ...]:
        """One Stage a pipeline stage; the one that needs most decides.

        Raises ImpossibleError for a split that the model does not allow.
        """
        ranks = self.ranks()
        return tuple(self.stage(ranks, number) for number in range(len(ranks)))

    def explain(self, batch: int, seq: int) -> None:
        """Record the worked solution of the fullest stage: each part, and their sum."""
        if not is_recording():
            return
        with quietly():
            needs = [stage.total(batch, seq) for stage in self.stages()]
        parts = self.stage(self.ranks(), needs.index(max(needs))).parts(batch, seq)
        for part in parts:
            if part.group == "runtime":
                record(
                    Step(
                        name=symbol(part.name), text="bytes", values={"bytes": part.bytes},
                        result=part.bytes, unit="bytes", basis=part.basis, source=part.source,
                    )
                )  # fmt: skip
        named = {symbol(part.name): part.bytes for part in parts}
        record_sum("total_per_gpu", named, "bytes", "modelled")

    def host(self) -> Host:
        """What stays on the host: layers and tables that no device holds."""
        _, rest = placed(self.ledger, self.serving)
        if not rest.sections and not self.serving.settings.cpu_offload_gb:
            return Host(weights=0)
        if not rest.sections:
            moved = sum(self._moved(weights.by_group(rank, self.format)) for rank in self.ranks())
            return Host(weights=moved * self.parallel.gpus // self.parallel.pp)
        cache = holding([rest], 0, self.kv, self.serving) if rest.order else None
        return Host(weights=sum(weights.by_group(rest, self.format).values()), cache=cache)

    def ranks(self) -> tuple[Ledger, ...]:
        """What the fullest rank of each stage computes, as this engine divides a model."""
        runtime = self.serving.runtime
        device, _ = placed(self.ledger, self.serving)
        own = replace(
            self.parallel, vocab_multiple=runtime.vocab_multiple, spare=runtime.spare,
            uneven_experts=runtime.uneven_experts, experts_over_data=runtime.experts_over_data,
        )  # fmt: skip
        return shard(device, own)

    def stage(self, ranks: tuple[Ledger, ...], number: int) -> Stage:
        """What the rank of one stage holds; the last stage proposes tokens too."""
        rank = ranks[number]
        held = weights.by_group(rank, self.format)
        if moved := self._moved(held):
            held = held | {"moved to the host": -moved}
        parallel, serving = self.parallel, self.serving
        taken = (
            *self.beside.parts(rank),
            *overheads(serving, alone=parallel.alone),
        )
        on_top = {one.name for one in serving.runtime.overheads if one.outside_budget}
        drafts = self._drafts() if number == len(ranks) - 1 else ()
        fixed = [part.bytes for part in taken] + [draft.weights for draft in drafts]
        return Stage(
            weights=held,
            cache=holding(ranks, number, self.kv, serving),
            scratch=scratch_space(rank, self.ledger, self.kv, serving, parallel.pp),
            taken=taken,
            drafts=drafts,
            shared=self.beside.shared_prefix,
            ranks=parallel.cp * parallel.dcp,
            fixed=sum(held.values()) + sum(fixed),
            outside=sum(part.bytes for part in taken if part.name in on_top),
        )

    def _moved(self, held: Mapping[str, int]) -> int:
        """Bytes of a rank's layers that are kept on the host, as far as there are so many."""
        layers = sum(size for name, size in held.items() if name not in ("embedding", "head"))
        return min(int((self.serving.settings.cpu_offload_gb or 0) * GIB), layers)

    def _drafts(self) -> tuple[Draft, ...]:
        """Models that propose tokens, cut over the tensor ranks as the model is."""
        found = []
        for name, ledger in self.beside.drafts(self.ledger):
            (rank,) = shard(ledger, Parallel(tp=self.parallel.tp))
            size = sum(weights.by_group(rank, self.format).values())
            found.append(
                Draft(name=name, weights=size, cache=holding([rank], 0, self.kv, self.serving))
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What an engine keeps in the memory of the host."""

    weights: int
    cache: Holding | None = None
    """Of the layers that stand there."""

    def bytes(self, batch: int, seq: int) -> int:
        """Weights, and what `batch` sequences of `seq` tokens leave behind in those layers."""
        if self.cache is None:
            return self.weights
        return self.weights + self.cache.cache(batch, seq) + self.cache.state(batch)

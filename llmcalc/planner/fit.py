"""Which models fit on these GPUs, how far, and what runs out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.shard import Parallel
from llmcalc.engines import limits
from llmcalc.engines.beside import NOTHING, Beside
from llmcalc.engines.budget import missing, usable
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.memory import Host, Start
from llmcalc.engines.serving import Place, Serving, serve
from llmcalc.engines.stage import Stage, fullest
from llmcalc.formula import quietly
from llmcalc.planner.splits import splits
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime
from llmcalc.spec.settings import Settings

Verdict = Literal["fits", "tight", "no"]
Limit = Literal["weights", "kv_cache", "activations", "context", "nothing"]

DEFAULTS = Settings()
COMFORT = 0.9
"""The share of the memory within which a model `fits`; above it is `tight`. vLLM's default
gpu_memory_utilization, which leaves room for what no model of memory sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to run: so many sequences of so many tokens, stored so, on so many GPUs."""

    batch: int
    seq: int
    capacity: int
    gpus: int
    weights: Quantization
    kv: KvFormats
    runtime: Runtime
    settings: Settings = DEFAULTS
    gpu: str = ""
    """Name of the GPU, which some defaults depend on."""
    beside: Beside = NOTHING
    """What is loaded beside the model."""
    parallel: Parallel | None = None
    """The split, where the user says it; else the one that needs least memory a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The answer for one model; how far it could grow is worked out when somebody asks."""

    verdict: Verdict
    too_long: bool
    """Whether more tokens were asked for than the model was made for."""
    needed: int
    free: int
    capacity: int
    seq: int
    """Tokens that `needed` holds for: what was asked, or the model's limit where that is less."""
    parallel: Parallel
    stage: Stage
    """The stage that needs most."""
    stages: tuple[Stage, ...]
    serving: Serving
    batch: int
    """Sequences on one replica."""
    context: int | None
    """Tokens that the model was made for."""

    @property
    def limit(self) -> Limit:
        """What runs out first, now or when batch and context grow."""
        if self.too_long:
            return "context"
        with quietly():
            return _limit(self.stage, self.serving, self.capacity, self.batch, self.seq)

    @property
    def max_batch(self) -> int:
        """The most sequences of `seq` tokens, all replicas together."""
        with quietly():
            return self.parallel.replicas * min(
                limits.largest_batch(each, self.serving, self.capacity, self.seq)
                for each in self.stages
            )

    @property
    def max_context(self) -> int:
        """The longest sequences at this batch, within the model's own limit."""
        with quietly():
            return min(
                limits.largest_context(each, self.serving, self.capacity, self.batch, self.context)
                for each in self.stages
            )


class Planner:
    """Places one model; it remembers what each split holds, since a search asks again and again.

    A search records nothing; `explain` records its answer.
    """

    def __init__(self, ledger: Ledger, limit: int | None) -> None:
        self.ledger, self.limit = ledger, limit
        """Its operations, and the tokens of context that it was made for."""
        self._held: dict[Hashable, tuple[Stage, ...]] = {}
        self._served: dict[Hashable, Serving] = {}
        self._hosts: dict[Hashable, Host] = {}

    def fit(self, ask: Ask) -> Fit:
        """The best place for the model: the split that needs least memory on each GPU.

        Raises ImpossibleError for a split that the model does not allow.
        """
        with quietly():
            return self._placed(ask, self.split(ask), self._seq(ask))

    def start(self, ask: Ask, parallel: Parallel) -> Start:
        """The engine with this model on so many ranks."""
        return Start(
            ledger=self.ledger, format=ask.weights, kv=ask.kv, serving=self.serving(ask),
            parallel=parallel, beside=ask.beside,
        )  # fmt: skip

    def explain(self, ask: Ask, parallel: Parallel, batch: int, seq: int) -> None:
        """Record the worked solution of `batch` sequences on a replica of this split."""
        self.start(ask, parallel).explain(batch, seq)

    def serving(self, ask: Ask) -> Serving:
        """The engine as it starts with this model. Raises UsageError for settings it lacks."""
        key = (ask.runtime.name, ask.settings, ask.capacity, ask.gpu, ask.gpus, ask.parallel)
        if key not in self._served:
            towers = any(section.stream == "tower" for section in self.ledger.sections)
            place = Place(
                memory=ask.capacity,
                gpu=ask.gpu,
                context=self.limit,
                towers=towers,
                ranks=ask.parallel.gpus if ask.parallel else ask.gpus,
            )
            self._served[key] = serve(ask.runtime, ask.settings, place)
        return self._served[key]

    def comfortable(self, ask: Ask) -> Ask:
        """The same question on devices as small as what `fits` may use of these."""
        if _has_own_budget(self.serving(ask), ask.capacity):
            return ask
        return replace(ask, capacity=int(COMFORT * ask.capacity))

    def host(self, ask: Ask, parallel: Parallel) -> Host:
        """What stays in the memory of the host."""
        key = (ask.weights.name, ask.kv, self.serving(ask).key, parallel)
        if key not in self._hosts:
            self._hosts[key] = self.start(ask, parallel).host()
        return self._hosts[key]

    def split(self, ask: Ask) -> Parallel:
        """The split that was asked for, else the one that needs least memory on each GPU."""
        if ask.parallel:
            return ask.parallel
        if ask.runtime.layers_over_devices:
            layers = len(self.ledger.order)
            held = min(layers, layers if (n := ask.settings.n_gpu_layers) is None else n)
            return Parallel(pp=max(1, min(ask.gpus, held)))
        allowed = list(splits(self.ledger, ask.gpus))
        if len(allowed) == 1:
            return allowed[0]
        needs = [(self._needed(ask, each), each) for each in allowed]
        return min(needs, key=lambda need: (need[0], need[1].gpus, need[1].pp))[1]

    def _seq(self, ask: Ask) -> int:
        return min(ask.seq, self.limit or ask.seq)

    def _needed(self, ask: Ask, parallel: Parallel) -> int:
        batch = -(-ask.batch // parallel.replicas)
        return max(stage.total(batch, self._seq(ask)) for stage in self.stages(ask, parallel))

    def _placed(self, ask: Ask, parallel: Parallel, seq: int) -> Fit:
        stages = self.stages(ask, parallel)
        batch = -(-ask.batch // parallel.replicas)
        stage = fullest(stages, batch, seq)
        needed, serving = stage.total(batch, seq), self.serving(ask)
        short = max(missing(each, serving, ask.capacity, batch, seq) for each in stages)
        return Fit(
            verdict=served(needed, short, serving, ask.capacity) if seq == ask.seq else "no",
            too_long=seq != ask.seq,
            needed=needed,
            free=-short,
            capacity=ask.capacity,
            seq=seq,
            parallel=parallel,
            stage=stage,
            stages=stages,
            serving=serving,
            batch=batch,
            context=self.limit,
        )

    def stages(self, ask: Ask, parallel: Parallel) -> tuple[Stage, ...]:
        """What one GPU of each pipeline stage holds under this split."""
        key = (ask.weights.name, ask.kv, self.serving(ask).key, parallel, ask.beside)
        if key not in self._held:
            self._held[key] = self.start(ask, parallel).stages()
        return self._held[key]


def judged(needed: int, capacity: int) -> Verdict:
    """`fits` with room to spare, `tight` within the memory, `no` beyond it."""
    if needed > capacity:
        return "no"
    return "fits" if needed <= COMFORT * capacity else "tight"


def served(needed: int, short: int, serving: Serving, capacity: int) -> Verdict:
    """As `judged`, unless the engine has a budget of its own: what that holds, fits.

    It is tight where only a larger budget would hold it.
    """
    if needed > capacity or not _has_own_budget(serving, capacity):
        return judged(needed, capacity)
    return "fits" if short <= 0 else "tight"


def _has_own_budget(serving: Serving, capacity: int) -> bool:
    """Whether the engine itself leaves some of the memory free."""
    return usable(serving, capacity) < capacity or serving.runtime.budget.form != "share"


def _limit(stage: Stage, serving: Serving, capacity: int, batch: int, seq: int) -> Limit:
    """What ends it: what does not fit, else what fills memory most."""
    if stage.fixed > capacity:
        return "weights"
    short = missing(stage, serving, capacity, batch, seq)
    if served(stage.total(batch, seq), short, serving, capacity) == "fits":
        return "nothing"
    cached = stage.cache.cache(batch, seq)
    return "kv_cache" if cached > stage.scratch.bytes(batch, seq) else "activations"

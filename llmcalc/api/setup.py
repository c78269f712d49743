"""The choices that `memory` and `fit` share, by the names that people type."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.api.request import at_least_one
from llmcalc.blueprint.shard import Parallel
from llmcalc.catalog.data import quantization, runtime
from llmcalc.engines.kv import KV_BITS
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.planner.fit import Ask
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a model is stored and run, and on how many GPUs."""

    weights: Quantization
    kv: str
    runtime: Runtime
    gpus: int = 1
    parallel: Parallel | None = None
    """The split where the user says it; None: the one that needs least memory on each GPU."""

    def ask(self, *, batch: int, seq: int, capacity: int) -> Ask:
        """The planner's question for so many sequences of so many tokens."""
        return Ask(
            batch=batch,
            seq=seq,
            capacity=capacity,
            gpus=self.gpus,
            weights=self.weights,
            kv=self.kv,
            runtime=self.runtime,
            parallel=self.parallel,
        )

    @property
    def assumptions(self) -> dict[str, str | int]:
        """In words."""
        return {
            "weights": self.weights.title,
            "KV cache": self.kv,
            "runtime": self.runtime.name,
            "prefill": f"{self.runtime.prefill_tokens:,} tokens at a time",
        }


def setup(
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    engine: str = "generic",
    gpus: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    dp: int | None = None,
) -> Setup:
    """Look the names up and agree on a split.

    Raises UsageError for an unknown name, ImpossibleError where the split contradicts `gpus`.
    """
    if kv not in KV_BITS:
        raise UsageError(f"--kv {kv} is no cache format", hint=f"have: {', '.join(KV_BITS)}")
    at_least_one(gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp)
    parallel = _split(gpus, tp, pp, ep, dp)
    return Setup(
        weights=quantization(weights),
        kv=kv,
        runtime=runtime(engine),
        gpus=parallel.gpus if parallel else gpus or 1,
        parallel=parallel,
    )


def shown(parallel: Parallel) -> str:
    """A split in words: `tp 8`, `tp 4 × pp 2`."""
    named = {"tp": parallel.tp, "pp": parallel.pp, "ep": parallel.ep, "dp": parallel.dp}
    return " × ".join(f"{name} {ranks}" for name, ranks in named.items() if ranks > 1) or "one GPU"


def _split(
    gpus: int | None, tp: int | None, pp: int | None, ep: int | None, dp: int | None
) -> Parallel | None:
    """What the options say, None if they say nothing; GPUs that they leave over are replicas."""
    if not (tp or pp or ep or dp):
        return None
    if ep and not (tp or pp or dp):
        tp = gpus or ep
    used = (tp or 1) * (pp or 1) * (dp or 1)
    if gpus and dp is None and gpus % used == 0:
        dp = gpus // used
    elif gpus and gpus != used:
        raise ImpossibleError(
            f"--tp {tp or 1} × --pp {pp or 1} × --dp {dp or 1} is {used} GPUs, not --gpus {gpus}",
            hint="leave --gpus out, or make them agree",
        )
    return Parallel(tp=tp or 1, pp=pp or 1, ep=ep or 1, dp=dp or 1)

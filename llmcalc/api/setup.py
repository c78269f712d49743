"""The choices that `memory` and `fit` share, by the names that people type."""

from __future__ import annotations

from dataclasses import dataclass

from llmcalc.api.request import at_least_one
from llmcalc.blueprint.shard import Parallel
from llmcalc.catalog.data import quantization, runtime
from llmcalc.engines.kv import KV_BITS
from llmcalc.errors import ImpossibleError, UsageError
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a model is stored and run."""

    weights: Quantization
    kv: str
    runtime: Runtime
    parallel: Parallel

    @property
    def assumptions(self) -> dict[str, str | int]:
        """In words."""
        named: dict[str, str | int] = {
            "weights": self.weights.title,
            "KV cache": self.kv,
            "runtime": self.runtime.title,
            "prefill": f"{self.runtime.prefill_tokens:,} tokens at a time",
        }
        if not self.parallel.alone or self.parallel.dp > 1:
            named["parallel"] = shown(self.parallel)
        return named


def setup(
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    engine: str = "generic",
    parallel: Parallel | None = None,
) -> Setup:
    """Look the names up. Raises UsageError for one that does not exist."""
    if kv not in KV_BITS:
        raise UsageError(f"--kv {kv} is no cache format", hint=f"have: {', '.join(KV_BITS)}")
    return Setup(
        weights=quantization(weights),
        kv=kv,
        runtime=runtime(engine),
        parallel=parallel or Parallel(),
    )


def shown(parallel: Parallel) -> str:
    """A split in words: `tp 8`, `tp 4 × pp 2`."""
    named = {"tp": parallel.tp, "pp": parallel.pp, "ep": parallel.ep, "dp": parallel.dp}
    return " × ".join(f"{name} {ranks}" for name, ranks in named.items() if ranks > 1) or "one GPU"


def split(
    gpus: int | None,
    *,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    dp: int | None = None,
) -> Parallel:
    """The split that the options say; what --gpus leaves over are replicas, or tensor ranks if nothing is said.

    Raises ImpossibleError where they contradict each other.
    """
    at_least_one(gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp)
    if gpus and not (tp or pp or dp):
        return Parallel(tp=gpus, ep=ep or 1)
    used = (tp or 1) * (pp or 1) * (dp or 1)
    if gpus and dp is None and gpus % used == 0:
        return Parallel(tp=tp or 1, pp=pp or 1, ep=ep or 1, dp=gpus // used)
    if gpus and gpus != used:
        raise ImpossibleError(
            f"--tp {tp or 1} × --pp {pp or 1} × --dp {dp or 1} is {used} GPUs, not --gpus {gpus}",
            hint="leave --gpus out, or make them agree",
        )
    return Parallel(tp=tp or 1, pp=pp or 1, ep=ep or 1, dp=dp or 1)

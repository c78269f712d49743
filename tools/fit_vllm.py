"""Fit the constants of vLLM's activation peak and non-torch memory on its public start-up logs.

Usage: python tools/fit_vllm.py

Prints what stands in llmcalc/runtimes/vllm*.yaml, with the rows it comes from and their residuals;
tests/test_fits.py compares the two. Rows are those of llmcalc/measurements/vllm.tsv that print an
activation peak, name their model and leave its settings at known values.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from llmcalc.blueprint import lower
from llmcalc.blueprint.shard import Parallel, shard
from llmcalc.catalog.data import runtime
from llmcalc.checks.measured.cases import case
from llmcalc.checks.measured.reading import read
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.engines import activations
from llmcalc.engines.capacity import capacity
from llmcalc.engines.scratch import forward_bytes
from llmcalc.engines.serving import Place, serve

DATA = pathlib.Path(__file__).parents[1] / "llmcalc" / "measurements" / "vllm.tsv"
GIB = 2**30
OUTLIER = 0.03
"""Rows further off than this share are not fitted, but listed: their settings were others."""


@dataclass(frozen=True)
class Peak:
    """One log: bytes of one float32 copy of the logits, of one 16-bit copy of the hidden states."""

    row: str
    logits: float
    hidden: float
    forward: float
    measured: float

    def modelled(self, sampler_copies: float, hidden_copies: float) -> float:
        """GiB while sampling, or in the forward pass."""
        return max(self.logits * sampler_copies + self.hidden * hidden_copies, self.forward)


def peaks() -> list[Peak]:
    """The logs whose configuration is known."""
    found = []
    for row in read(str(DATA)):
        if not row.measured.get("activation_peak_gib"):
            continue
        try:
            asked = case(row.kind.name, row.config)
        except Unusable:
            continue
        if "room" in asked.missing and row.config.get("model_stated") != "stated":
            continue
        memory = asked.memory or (capacity(asked.gpu).bytes if asked.gpu else 0)
        place = Place(
            memory=memory, gpu=asked.gpu.name if asked.gpu else "",
            context=asked.card.max_position_embeddings, towers=bool(asked.card.towers),
        )  # fmt: skip
        serving = serve(runtime(asked.runtime), asked.settings, place)
        rank = shard(lower(asked.card), Parallel(tp=asked.tp, pp=asked.pp))[-1]
        tokens = serving.tokens_at_once
        seqs = min(serving.settings.max_num_seqs or 1, tokens)
        widest = activations.widest(rank, with_input=True)
        found.append(
            Peak(
                row=row.id,
                logits=seqs * activations.head_width(rank) * 4 / GIB,
                hidden=tokens * rank.hidden_size * 2 / GIB,
                forward=forward_bytes(tokens=tokens, d=rank.hidden_size, copies=3, widest=widest)
                / GIB,
                measured=float(row.measured["activation_peak_gib"]),
            )
        )
    return found


def fit(rows: list[Peak]) -> tuple[float, float]:
    """Copies of logits and of hidden states that fit best, each row weighed by its size."""
    a = b = c = p = q = 0.0
    for row in rows:
        weight = 1 / row.measured**2
        a += weight * row.logits**2
        b += weight * row.logits * row.hidden
        c += weight * row.hidden**2
        p += weight * row.logits * row.measured
        q += weight * row.hidden * row.measured
    scale = a * c - b * b
    return (p * c - q * b) / scale, (q * a - p * b) / scale


def fitted() -> tuple[float, float, list[Peak], list[Peak]]:
    """The two constants, the rows they come from, and the rows left out.

    Settings that no log tells make some rows outliers of any size, so the fit starts from the pair
    of rows that agrees with most others.
    """
    rows = [row for row in peaks() if row.forward < 0.9 * row.measured]
    kept = max(
        (_near(rows, *fit([one, other])) for one, other in combinations(rows, 2)
         if one.logits * other.hidden != other.logits * one.hidden),
        key=len,
    )  # fmt: skip
    kept = _near(rows, *fit(kept))
    return (*fit(kept), kept, [row for row in rows if row not in kept])


def _near(rows: list[Peak], sampler: float, hidden: float) -> list[Peak]:
    return [row for row in rows if abs(row.modelled(sampler, hidden) / row.measured - 1) < OUTLIER]


def non_torch() -> dict[str, tuple[int, float]]:
    """Number and median of the non-torch memory, by engine and whether several GPUs work on one."""
    groups: dict[str, list[float]] = {}
    for row in read(str(DATA)):
        if (value := row.measured.get("non_torch_gib")) and row.config.get("tp"):
            several = int(row.config["tp"]) * int(row.config.get("pp") or 1) > 1
            name = f"{row.config.get('engine')}, {'several GPUs' if several else 'one GPU'}"
            groups.setdefault(name, []).append(float(value))
    return {name: (len(values), median(values)) for name, values in sorted(groups.items())}


def main() -> None:
    """Print the constants, the residuals and the rows left out."""
    sampler, hidden, kept, left = fitted()
    print(f"sampler_copies {sampler:.3f}, hidden_copies {hidden:.3f}, n = {len(kept)}")
    for row in (*kept, *left):
        modelled = row.modelled(sampler, hidden)
        note = "" if row in kept else "  left out"
        print(f"{row.row}: {row.measured} GiB, modelled {modelled:.2f}{note}")
    for name, (n, middle) in non_torch().items():
        print(f"non-torch, {name}: n = {n}, median {middle:.2f} GiB")


if __name__ == "__main__":
    main()

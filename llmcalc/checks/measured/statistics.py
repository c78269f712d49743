"""What many errors say together: a median, a ninetieth percentile, a bias."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmcalc.checks.measured.score import OUTCOME, Scored
from llmcalc.formula import formula

WORST = 3
"""Rows that a summary names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The rows of one group and metric; errors are null where no row is scored."""

    group: str
    metric: str
    n: int
    skipped: int
    error_p50: float | None
    error_p90: float | None
    bias: float | None
    false_fits: int | None
    """Of outcomes: predicted to start, did not. Null for other metrics."""
    false_refusals: int | None
    """Of outcomes: predicted not to start, did."""
    worst: tuple[Scored, ...]
    skipped_because: dict[str, int]
    rows: tuple[Scored, ...]


@formula(
    "low + (high − low) · share",
    source="linear between the two errors around rank q · (n − 1), the smallest error at rank 0",
)
def between(*, low: float, high: float, share: float) -> float:
    """A quantile between two neighbours."""
    return low + (high - low) * share


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile of at least one value."""
    ordered = sorted(values)
    rank = q * (len(ordered) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return float(between(low=ordered[low], high=ordered[high], share=rank - low))


def summaries(found: Iterable[Scored]) -> list[Summary]:
    """One for each group and metric, in order of their names."""
    sets: defaultdict[tuple[str, str], list[Scored]] = defaultdict(list)
    for one in found:
        sets[one.group, one.metric].append(one)
    return [summary(group, metric, sets[group, metric]) for group, metric in sorted(sets)]


def summary(group: str, metric: str, rows: Sequence[Scored]) -> Summary:
    """The rows of one group and metric together."""
    errors = [one.error for one in rows if one.error is not None]
    sizes = [abs(error) for error in errors]
    outcome = metric == OUTCOME
    told = Counter(one.skipped_because for one in rows if one.skipped_because)
    return Summary(
        group=group,
        metric=metric,
        n=len(errors),
        skipped=len(rows) - len(errors),
        error_p50=quantile(sizes, 0.5) if sizes else None,
        error_p90=quantile(sizes, 0.9) if sizes else None,
        bias=quantile(errors, 0.5) if errors else None,
        false_fits=sum(error > 0 for error in errors) if outcome else None,
        false_refusals=sum(error < 0 for error in errors) if outcome else None,
        worst=tuple(sorted((one for one in rows if one.error), key=_size)[:WORST]),
        skipped_because=dict(told.most_common()),
        rows=tuple(rows),
    )


def _size(one: Scored) -> tuple[float, str]:
    return -abs(one.error or 0), one.row_id

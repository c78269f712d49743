"""What would make a training fit, cheapest change first, each with its own recomputed total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmcalc.api.train_changes import (
    EXACT,
    LEVERS,
    SMALLER,
    Change,
    Lever,
    more_gpus,
    offloads,
    options,
    stages,
)
from llmcalc.api.trained import Trained
from llmcalc.planner.advice import Advice
from llmcalc.planner.fit import Verdict

MOST = 8
"""Lines of advice; what is left out costs more than all of them."""

ONE = Lever(words="micro-batch 1", said={"micro_batch": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One model, and which verdicts are enough."""

    one: Trained
    worth: tuple[Verdict, ...]

    def enough(self, change: Change) -> bool:
        """Whether it is worth to name."""
        return self.one.verdict_of(change.asked) in self.worth

    def squeezed(self, start: Change, levers: Sequence[Lever]) -> Change | None:
        """The start with as few of the levers as are enough, the cheaper ones first."""
        if self.enough(start):
            return start
        if self.one.needs_of(start.then(*levers).asked).line.lasting.weights > self.one.capacity:
            return None  # no lever makes weights smaller than all of them do
        pulled: list[Lever] = []
        while not self.enough(start.then(*pulled)):
            left = (one for one in levers if one not in pulled)
            lever = next((one for one in left if self._helps(start, pulled, one)), None)
            if lever is None:
                return None
            pulled.append(lever)
        for lever in sorted(pulled, key=levers.index):
            fewer = [one for one in pulled if one is not lever]
            if self.enough(start.then(*fewer)):
                pulled = fewer
        return start.then(*sorted(pulled, key=levers.index))

    def _helps(self, start: Change, pulled: Sequence[Lever], lever: Lever) -> bool:
        total = self.one.total
        return total(start.then(*pulled, lever).asked) < total(start.then(*pulled).asked)


def advise(one: Trained) -> tuple[Advice, ...]:
    """Changes after which it fits, or is tight where it did not fit; none where it fits already."""
    return tuple(
        Advice(
            change=change.words, options=options(change.asked), needed=one.total(change.asked),
            verdict=one.verdict_of(change.asked), host=one.host(change.asked),
        )
        for change in ways(one)
    )  # fmt: skip


def ways(one: Trained) -> tuple[Change, ...]:
    """The same, as changes."""
    if one.verdict == "fits":
        return ()
    way = Way(one=one, worth=("fits",) if one.verdict == "tight" else ("fits", "tight"))
    start = Change(asked=one.asked)
    if one.context_limit and one.too_long(one.asked):
        words = f"the model's {one.context_limit:,} tokens"
        start = start.then(Lever(words=words, said={"seq": one.context_limit}))
        if way.enough(start):
            return (start,)
    return tuple(filter(None, _found(way, start)))[:MOST]


def cheapest(one: Trained) -> Change | None:
    """The fewest changes within the method after which it fits; None where none do."""
    return Way(one=one, worth=("fits",)).squeezed(Change(asked=one.asked), LEVERS)


def _found(way: Way, start: Change) -> Iterator[Change | None]:
    """One change where it is enough; else together with what keeps the method or the numbers."""
    alone = [change for change in _leaner(way, start) if way.enough(change)]
    yield from alone
    if not alone:
        yield way.squeezed(start, (ONE, *LEVERS))
    free = () if alone else EXACT
    asked = start.asked
    for lever in SMALLER[asked.method]:
        yield way.squeezed(start.then(lever), free)
    dealt = (way.squeezed(start.then(lever), free) for lever in stages(asked))
    yield next(filter(None, dealt), None)
    for lever in offloads(asked):
        yield way.squeezed(start.then(lever), free)
    more = (way.squeezed(start.then(lever), free) for lever in more_gpus(asked))
    yield next(filter(None, more), None)


def _leaner(way: Way, start: Change) -> Iterator[Change]:
    """A smaller micro-batch, and each lever alone."""
    batch = way.one.comfortable_batch(start.asked)
    if 0 < batch < start.asked.micro_batch:
        yield start.then(Lever(words=f"micro-batch {batch}", said={"micro_batch": batch}))
    for lever in LEVERS:
        yield start.then(lever)

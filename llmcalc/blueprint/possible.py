"""Which splits a model allows, and the nearest one to a split that it does not.

Each rule speaks of one axis and looks only at axes before it, and 1 is always allowed where those
before are. So an impossible split is repaired axis by axis, and what a refusal proposes works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any, Literal

from llmcalc.blueprint.operations import Ledger
from llmcalc.blueprint.parallel import Parallel, even_stages
from llmcalc.blueprint.pieces import Pieces, pieces
from llmcalc.errors import ImpossibleError

MOST_RANKS = 8192
"""More is not proposed, however many are asked for."""

Axis = Literal["tp", "pp", "ep", "dp", "cp", "dcp", "attention_dp"]


def tensor_splits(ledger: Ledger, most: int) -> tuple[int, ...]:
    """Degrees of tensor parallelism up to `most` that divide heads and feed-forward rows."""
    if most == 1:
        return (1,)
    model = pieces(ledger)
    return tuple(n for n in range(1, most + 1) if _tensor(model, Parallel(tp=n)) is None)


def expert_splits(ledger: Ledger, most: int) -> tuple[int, ...]:
    """Degrees of expert parallelism up to `most` that divide the number of experts."""
    experts = pieces(ledger).experts
    return tuple(
        n for n in range(1, most + 1) if n == 1 or (experts and all(e % n == 0 for e in experts))
    )


def refuse_impossible(ledger: Ledger, parallel: Parallel) -> None:
    """Raise ImpossibleError for a split that the model does not allow, naming the nearest ones."""
    if parallel == Parallel(dp=parallel.dp):
        return
    model = pieces(ledger)
    for number, (axis, rule) in enumerate(RULES):
        if reason := rule(model, parallel):
            raise ImpossibleError(reason, hint=_near(model, parallel, axis, number))


def _near(model: Pieces, parallel: Parallel, axis: Axis, number: int) -> str:
    """What to ask for instead: other degrees of one axis, or more axes where these do not do."""
    if parallel.stages and axis == "pp":
        even = even_stages(model.layers, min(parallel.pp, model.layers), parallel.spare)
        return "possible: stages of " + ", ".join(map(str, even)) + " layers"
    asked = getattr(parallel, axis)
    good = [n for n in _nearest(asked) if possible(model, _with(parallel, axis, n))]
    if good:
        below = max((n for n in good if n < asked), default=None)
        above = min((n for n in good if n > asked), default=None)
        return "possible near it: " + " or ".join(str(n) for n in (below, above) if n)
    return f"possible: {_named(_repaired(model, parallel, number))}"


def _with(parallel: Parallel, axis: Axis, ranks: int) -> Parallel:
    """The same split with another degree of one axis."""
    changed: dict[str, Any] = {axis: ranks}
    return replace(parallel, **changed)


def possible(model: Pieces, parallel: Parallel) -> bool:
    """Whether the model allows a split."""
    return all(rule(model, parallel) is None for _, rule in RULES)


def _repaired(model: Pieces, parallel: Parallel, number: int) -> Parallel:
    """The split with one other axis changed, or each axis that breaks a rule; else one device."""
    for axis, _ in RULES:
        for n in _nearest(getattr(parallel, axis)):
            if possible(model, tried := _with(parallel, axis, n)):
                return tried
    for upto in range(number, len(RULES)):
        axis, rule = RULES[upto]
        for n in _nearest(getattr(parallel, axis)) if rule(model, parallel) else ():
            tried = _with(parallel, axis, n)
            if all(rule(model, tried) is None for _, rule in RULES[: upto + 1]):
                parallel = tried
                break
    if possible(model, parallel):
        return parallel
    return replace(parallel, tp=1, pp=1, ep=1, dp=1, cp=1, dcp=1, attention_dp=1, stages=())


def _nearest(asked: int) -> list[int]:
    """Degrees around the one asked for, the nearest first."""
    most = min(4 * asked, MOST_RANKS)
    return sorted(range(1, most + 1), key=lambda n: (abs(n - asked), n))


def _named(parallel: Parallel) -> str:
    axes: tuple[Axis, ...] = ("tp", "attention_dp", "pp", "ep", "dp", "cp", "dcp")
    named = [(axis.replace("_", "-"), getattr(parallel, axis)) for axis in axes]
    return " ".join(f"--{axis} {ranks}" for axis, ranks in named if ranks > 1) or "one GPU"


def _pipeline(model: Pieces, parallel: Parallel) -> str | None:
    """Whole layers, at least one a stage."""
    sizes = parallel.stages
    if parallel.pp > model.layers:
        return f"--pp {parallel.pp} does not divide this model of {model.layers} layers"
    asked = (len(sizes), sum(sizes)) != (parallel.pp, model.layers) or min(sizes, default=1) < 1
    if sizes and asked:
        named = ", ".join(map(str, sizes))
        return f"stages of {named} layers are not --pp {parallel.pp} of {model.layers} layers"
    return None


def _tensor(model: Pieces, parallel: Parallel) -> str | None:
    """Heads, groups and rows divide evenly; groups of attention have a rule of their own."""
    n, divided = parallel.tp, set(model.rows)
    if not parallel.shared_whole:
        divided |= model.shared_rows
    if parallel.ep == 1:
        divided |= model.expert_rows
    if all(count % n == 0 for count in divided) and (
        parallel.attention_dp > 1 or _heads_divide(model, n)
    ):
        return None
    return f"--tp {n} does not divide this model"


def _heads_divide(model: Pieces, n: int) -> bool:
    return (
        all(h % n == 0 for h in model.heads)
        and all(h % n == 0 or n % h == 0 for h in model.kv_heads)
        and all(g % n == 0 or g == 1 for g in model.groups)
    )


def _attention_groups(model: Pieces, parallel: Parallel) -> str | None:
    """Groups are of whole tensor ranks, which divide the heads (SGLang --enable-dp-attention)."""
    groups = parallel.attention_dp
    if parallel.tp % groups:
        return f"--attention-dp {groups} does not divide --tp {parallel.tp}"
    if not _heads_divide(model, parallel.attention_tp):
        return f"--attention-dp {groups} leaves --tp {parallel.attention_tp}, which does not divide"
    return None


def _context(model: Pieces, parallel: Parallel) -> str | None:
    """Tensor ranks share the tokens only of heads that they would otherwise all hold.

    vLLM 0.32.0: vllm/config/parallel.py and vllm/config/model.py, verify_with_parallel_config;
    vllm/v1/kv_cache_interface.py refuses windows.
    """
    n, tp = parallel.dcp, parallel.attention_tp
    if n == 1:
        return None
    if tp % n:
        return f"--dcp {n} does not divide --tp {tp}"
    if model.windows:
        return f"--dcp {n} does not share the tokens of layers with a window"
    if any(h_kv * n > tp or (h // h_kv) % n for h, h_kv in model.queries):
        return f"--dcp {n} is more than the ranks on which --tp {tp} repeats each cached head"
    return None


def _expert(model: Pieces, parallel: Parallel) -> str | None:
    """Whole experts, dealt out among all ranks of a stage, or several tensor ranks to each."""
    n = parallel.ep
    if n == 1:
        return None
    if not model.experts:
        return f"--ep {n} does not divide this model, which has no experts"
    copies = parallel.redundant_experts
    uneven = [e for e in model.experts if (e + copies) % n and not parallel.uneven_experts]
    if uneven or n > min(model.experts) + copies:
        return f"--ep {n} does not divide this model"
    if parallel.expert_ranks % n or gcd(parallel.tp, n) not in (parallel.tp, n):
        return (
            f"--ep {n} does not divide --tp times --dp, {parallel.expert_ranks}, into whole "
            "tensor groups"
        )
    if any(rows % parallel.expert_rows for rows in model.expert_rows):
        return f"--ep {n} leaves {parallel.expert_rows} ranks to an expert, which do not divide it"
    return None


def _data(model: Pieces, parallel: Parallel) -> str | None:
    """Where data ranks cut experts too, the rows divide among them all."""
    if parallel.ep > 1 or not parallel.experts_over_data:
        return None
    if any(rows % parallel.expert_rows for rows in model.expert_rows):
        return f"--dp {parallel.dp} does not divide the experts of this model"
    return None


RULES: tuple[tuple[Axis, Callable[[Pieces, Parallel], str | None]], ...] = (
    ("tp", _tensor),
    ("pp", _pipeline),
    ("attention_dp", _attention_groups),
    ("dcp", _context),
    ("ep", _expert),
    ("dp", _data),
)
"""In the order in which a split is repaired."""

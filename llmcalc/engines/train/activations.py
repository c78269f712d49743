"""What do a rank's layers keep? Bytes between forward and backward of one micro-batch."""

from __future__ import annotations

from llmcalc.blueprint.keeping.tensor import FROZEN, Kept
from llmcalc.blueprint.operations import GroupedMatmul, Ledger, Matmul, Operation, Section
from llmcalc.engines.kept import count, kept_bytes
from llmcalc.engines.train.plan import Plan
from llmcalc.engines.train.trained import adapted
from llmcalc.engines.workload import Workload

LAYERS = {"layer", "beside"}


def workload(plan: Plan) -> Workload:
    """One micro-batch as one context rank sees it."""
    seq = -(-plan.seq // plan.parallel.cp)
    return Workload(phase="train", batch=plan.micro_batch, query=seq, context=seq, encoder=seq)


def logit_tokens(plan: Plan) -> int:
    """Tokens of one micro-batch on one context rank whose logits are computed."""
    seq = plan.seq if plan.with_logits is None else min(plan.seq, plan.with_logits)
    return plan.micro_batch * -(-seq // plan.parallel.cp)


def layer_bytes(section: Section, plan: Plan) -> int:
    """Bytes that one layer keeps; `whole` ones, as where nothing is computed again."""
    found = [one for one in section.kept if _kept(one, plan)]
    size = sum(_held(one, section, plan) for one in found)
    if plan.adapters and plan.adapters.quantised:
        inputs = sum(_held(one, section, plan) for one in found if one.needed_for == "product")
        size += (plan.framework.quantised_inputs - 1) * inputs
    beside = sum(_beside(operation, section, plan) for operation in section.operations)
    return size + beside + _joined(section, plan)


def _joined(section: Section, plan: Plan) -> int:
    """Bytes of queries and keys before their rotation, where values are cut from one with them."""
    if not plan.framework.joined_qkv or plan.kernels == "eager":
        return 0
    widths = sum(one.width for one in section.operations
                 if isinstance(one, Matmul) and one.name in {"q", "k"})  # fmt: skip
    return 2 * widths * workload(plan).of(section.stream)


def checkpoint_bytes(section: Section, plan: Plan) -> int:
    """Bytes of the input of one layer, all that is kept of one that is computed again."""
    step = workload(plan)
    size: int = kept_bytes(elements=section.width, bytes=2, count=step.of(section.stream))
    return -(-size // stream_ranks(plan))


def kept(ledger: Ledger, plan: Plan) -> int:
    """Bytes kept of one micro-batch by all layers of a rank, ends included."""
    total = 0
    for section in ledger.sections:
        if section.kind in LAYERS and plan.recompute == "full":
            total += -(-section.times // plan.every) * checkpoint_bytes(section, plan)
        else:
            total += section.times * layer_bytes(section, plan)
    return total


def again(ledger: Ledger, plan: Plan) -> int:
    """Bytes of the layers that are computed again together, while their gradients are."""
    if plan.recompute != "full":
        return 0
    found = [
        min(section.times, plan.every) * layer_bytes(section, plan)
        for section in ledger.sections
        if section.kind in LAYERS
    ]
    return max(found, default=0)


def working(ledger: Ledger, plan: Plan) -> int:
    """Bytes of gradients that pass through one layer: of its input and output, and inside."""
    return max(
        (_working(section, plan) for section in ledger.sections if section.kind in LAYERS),
        default=0,
    )


def _working(section: Section, plan: Plan) -> int:
    tokens = workload(plan).of(section.stream)
    inside = max((_width(one) for one in section.operations), default=0)
    # The stream's gradient and the one that is added to it, and both factors' of a gate.
    return 2 * tokens * (2 * section.width // stream_ranks(plan) + 2 * inside)


def stream_ranks(plan: Plan) -> int:
    """Tensor ranks that divide the residual stream among them."""
    return plan.parallel.tp if plan.sequence_parallel else 1


def _kept(one: Kept, plan: Plan) -> bool:
    if plan.recompute == "selective" and one.per in {"pair", "cross pair"}:
        return False
    return one.by(plan.kernels, plan.not_trained)


def _held(one: Kept, section: Section, plan: Plan) -> int:
    size: int = kept_bytes(
        elements=one.elements, bytes=one.bytes, count=count(one, section, workload(plan))
    )
    if one.needed_for == "product" and plan.recipe.inputs != 2:  # noqa: PLR2004  bytes, of bf16
        size = size * plan.recipe.inputs // 2
    if one.per in {"pair", "cross pair"}:
        size *= plan.parallel.cp  # the keys of all context ranks
    if "v" in one.dims and one.text.startswith("v"):
        size = int(size * plan.imbalance)
    ranks = stream_ranks(plan) if one.residual else plan.parallel.tp
    return -(-size // ranks)


def _beside(operation: Operation, section: Section, plan: Plan) -> int:
    """Bytes that the adapter of one product keeps."""
    adapters = plan.adapters
    if adapters is None or not adapted(operation, adapters):
        return 0
    if not isinstance(operation, (Matmul, GroupedMatmul)):
        return 0
    *_, d_out, d_in = operation.weight.shape
    stream = (operation.stream if isinstance(operation, Matmul) else None) or section.stream
    visits = operation.top_k if isinstance(operation, GroupedMatmul) else 1
    each = 2 * adapters.rank + _inputs(operation, d_in, section, plan)
    if adapters.magnitudes:
        each += 2 * 2 * d_out  # the product and the adapter's, each scaled by a learned number
    return workload(plan).of(stream) * visits * each


def _inputs(operation: Operation, d_in: int, section: Section, plan: Plan) -> int:
    """Bytes a token of the input that the first factor keeps, beyond what is kept anyway."""
    assert plan.adapters is not None  # noqa: S101  asked for only where there are some
    if plan.framework.adapter_dropout:
        return 3 * d_in  # a dropped-out copy in 16 bits and its mask
    by_flash = operation.name == "o" and plan.kernels != "eager"
    first = not (_same_input(operation.name, section) & plan.adapters.targets)
    return 2 * d_in if plan.not_trained == FROZEN and first and not by_flash else 0


_AFTER = {"k": {"q"}, "v": {"q", "k"}, "up": {"gate"}, "kv_a": {"q_a", "q"}}


def _same_input(name: str, section: Section) -> set[str]:
    """Products before one of that name that see the same tensor."""
    shared = _AFTER.get(name, set())
    one_norm = not any(one.name == "norm_2" for one in section.operations)
    if section.placement == "parallel" and one_norm and name in {"gate", "up"}:
        return shared | {"q", "k", "v"}
    return shared


def _width(operation: Operation) -> int:
    """Elements a token that a product puts out on this rank."""
    return operation.width if isinstance(operation, (Matmul, GroupedMatmul)) else 0

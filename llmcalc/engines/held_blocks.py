"""A cache in blocks, as vLLM and TensorRT-LLM lay it out when they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import kv
from llmcalc.engines.blocks import BlockPool, pool
from llmcalc.engines.holding import whole_sequences
from llmcalc.engines.kv_format import KvFormats
from llmcalc.engines.serving import Serving
from llmcalc.formula import formula
from llmcalc.spec.block_rules import BlockRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Whole blocks of every group of layers, states of recurrences among them."""

    pool: BlockPool
    profile: kv.KvProfile

    @property
    def bytes_per_token(self) -> int:
        """Bytes that a token adds while it is inside every window, blocks not rounded."""
        return self.profile.bytes_per_token

    @property
    def state_bytes(self) -> int:
        """Bytes of one sequence that do not grow; they are stored in blocks too."""
        return self.profile.state_bytes

    def cache(self, batch: int, seq: int) -> int:
        """Bytes of the blocks of all sequences."""
        return batch * self.pool.bytes_of_request(seq)

    def state(self, batch: int) -> int:  # noqa: ARG002
        """None apart: states stand in blocks."""
        return 0

    def tokens(self, room: int, longest: int) -> int | None:
        """Tokens that the engine reports."""
        return self.pool.tokens(longest, room) if self.profile.bytes_per_token else None

    def concurrency(self, room: int, longest: int) -> float | None:
        """Sequences of the longest length, as the engine reports them."""
        return self.pool.concurrency(longest, room)

    def explain(self, batch: int, seq: int) -> None:
        """Record blocks times their bytes."""
        blocks_bytes(
            b=batch, blocks=self.pool.blocks_of_request(seq), block_bytes=self.pool.block_bytes
        )

    def explain_room(self, room: int, longest: int) -> None:
        """Record the blocks of the room, and how many sequences take so many."""
        if self.pool.block_bytes:
            blocks: int = blocks_of_room(room=max(0, room), block_bytes=self.pool.block_bytes)
            whole_sequences(room=blocks, one=self.pool.blocks_of_request(longest))


@formula("int(room / block_bytes)", source="whole blocks of the room", unit="blocks")
def blocks_of_room(*, room: int, block_bytes: int) -> int:
    """Blocks that a room holds."""
    return room // block_bytes


@formula(
    "b · blocks · block_bytes",
    source="whole blocks of each group of layers, for a sequence whose prompt is being computed",
    unit="bytes",
)
def blocks_bytes(*, b: int, blocks: int, block_bytes: int) -> int:
    """Bytes of the blocks of `b` sequences."""
    return b * blocks * block_bytes


def in_blocks(
    form: BlockRules, ranks: Sequence[Ledger], number: int, formats: KvFormats, serving: Serving
) -> Blocks:
    """The cache of one rank of a pipeline; layers are grouped over all of it."""
    chosen = serving.settings
    rules = form if chosen.block_size is None else replace(form, block_size=chosen.block_size)
    if rules.steps_ahead is not None and not chosen.async_scheduling:
        rules = replace(rules, steps_ahead=0)
    held = pool(ranks, formats, batched=serving.tokens_at_once, rules=rules)
    own = replace(held, stages=held.stages[number : number + 1])
    return Blocks(pool=own, profile=kv.profile(ranks[number], formats))

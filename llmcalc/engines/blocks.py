"""How many tokens and sequences does a pool of blocks hold? vLLM's cache, as its log reports it.

A sequence takes whole blocks of each group of layers, and every block is as large as the largest
group needs. Concurrency is all blocks over those of one sequence. Blocks and rules are of vLLM;
which version does what is data (spec/block_rules.py, and `cache` of llmcalc/runtimes/vllm*.yaml).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines.block_groups import Group, group
from llmcalc.engines.block_layers import cached_layers
from llmcalc.engines.kv_format import BF16, KvFormats
from llmcalc.spec.block_rules import BlockRules


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPool:
    """The cache of one rank, or of the ranks of each pipeline stage, in blocks."""

    groups: tuple[Group, ...]
    stages: tuple[int, ...]
    """Bytes of a block on a rank of each stage."""
    in_flight: int
    """Tokens of prompts whose computation is under way, at most."""
    rules: BlockRules

    @property
    def block_bytes(self) -> int:
        """Bytes of a block on the fullest stage; 0: nothing is cached."""
        return max(self.stages, default=0)

    def blocks(self, *budgets: int) -> int:
        """Blocks that the budgets hold: one for each stage, or one for all."""
        each = budgets if len(budgets) == len(self.stages) else budgets * len(self.stages)
        holds = [max(0, room) // size for room, size in zip(each, self.stages, strict=True) if size]
        return min(holds, default=0)

    def blocks_of_request(self, tokens: int) -> int:
        """Blocks that one sequence of `tokens` may hold, its prompt being computed."""
        return sum(one.blocks(tokens, self.in_flight) for one in self.groups)

    def bytes_of_request(self, tokens: int) -> int:
        """Bytes that one sequence of `tokens` may hold, on the fullest stage."""
        return self.block_bytes * self.blocks_of_request(tokens)

    def concurrency(self, length: int, *budgets: int) -> float | None:
        """Sequences of `length` tokens at once; None where nothing is cached."""
        if not self.block_bytes:
            return None
        blocks = self.blocks(*budgets)
        if not self.rules.windows:  # V0 did not round a sequence up to whole blocks
            return blocks * self.groups[0].layer.block / length
        return blocks / self.blocks_of_request(length)

    def tokens(self, length: int, *budgets: int) -> int | None:
        """Tokens that the log reports for sequences of `length`; None where nothing is cached."""
        if not self.block_bytes:
            return None
        blocks = self.blocks(*budgets)
        if self.rules.reported == "blocks":
            tokens = min(one.layer.block for one in self.groups)
            return blocks // len(self.groups) * tokens
        return int(blocks / self.blocks_of_request(length) * length)

    def batch(self, length: int, *budgets: int) -> int | None:
        """Whole sequences of `length` that run at once; None: as many as one likes."""
        if not self.block_bytes:
            return None
        return self._usable(*budgets) // self.blocks_of_request(length)

    def longest(self, most: int, *budgets: int) -> int:
        """Tokens of the longest sequence that fits, up to `most`; 0 where none does."""
        usable, low, high = self._usable(*budgets), 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.blocks_of_request(middle) <= usable or not self.block_bytes:
                low = middle
            else:
                high = middle - 1
        return low

    def _usable(self, *budgets: int) -> int:
        """One block is never given out: it stands for tokens outside a window."""
        return max(0, self.blocks(*budgets) - 1)


def pool(
    stages: Sequence[Ledger],
    formats: KvFormats = BF16,
    *,
    batched: int,
    rules: BlockRules,
) -> BlockPool:
    """The cache of the ledgers of a rank of each pipeline stage.

    A step computes at most `batched` tokens (max_num_batched_tokens).
    """
    steps = 1 if rules.steps_ahead is None else len(stages) + rules.steps_ahead
    groups = group(cached_layers(stages, formats, rules), len(stages), rules)
    sizes = tuple(max((one.pages[n] for one in groups), default=0) for n in range(len(stages)))
    return BlockPool(groups=groups, stages=sizes, in_flight=steps * batched, rules=rules)

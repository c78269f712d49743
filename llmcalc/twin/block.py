"""A layer: parts around a residual stream, and norms where the placement puts them."""

from __future__ import annotations

from itertools import count

from torch import Tensor, nn

from llmcalc.spec.card import Block
from llmcalc.twin.extras import hold
from llmcalc.twin.kinds import TWINS
from llmcalc.twin.norms import norm
from llmcalc.twin.setting import Pass, Setting


class BlockTwin(nn.Module):
    """One layer of a model."""

    def __init__(self, block: Block, setting: Setting, numbers: count[int]) -> None:
        super().__init__()
        self.placement = block.placement
        self.norms = nn.ModuleList(
            norm(setting.norm, setting.hidden_size) for _ in range(block.norms)
        )
        self.parts = nn.ModuleList(
            TWINS[type(part)](part, setting, next(numbers)) for part in block.parts
        )
        hold(self, block.extra)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        if self.placement == "parallel":
            return self._parallel(x, run)
        for number, part in enumerate(self.parts):
            x = self._residual(x, part, number, run)
        return x

    def _residual(self, x: Tensor, part: nn.Module, number: int, run: Pass) -> Tensor:
        """One part: normed before, after, around, or once it is added."""
        match self.placement:
            case "post":
                out: Tensor = self._norm(number)(x + part(x, run))
            case "output":
                out = x + self._norm(number)(part(x, run))
            case "sandwich":
                out = x + self._norm(2 * number + 1)(part(self._norm(2 * number)(x), run))
            case _:
                out = x + part(self._norm(number)(x), run)
        return out

    def _parallel(self, x: Tensor, run: Pass) -> Tensor:
        """All parts see the same x, under one norm or one each."""
        normed = [one(x) for one in self.norms] or [x]
        for number, part in enumerate(self.parts):
            x = x + part(normed[min(number, len(normed) - 1)], run)
        return x

    def _norm(self, number: int) -> nn.Module:
        """The norm of that number; parts beyond the last share it; without norms, nothing."""
        return self.norms[min(number, len(self.norms) - 1)] if len(self.norms) else nn.Identity()

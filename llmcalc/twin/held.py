"""Keys and values in room taken beforehand, as engines hold them: written in place, not grown."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class Held:
    """A whole cache [b, h_kv, s, d] whose last tokens each step writes anew."""

    def __init__(self, k: Tensor, v: Tensor) -> None:
        self.k, self.v = k, v

    def written(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, with those of the newest tokens in the last places."""
        self.k[:, :, -k.shape[2] :], self.v[:, :, -v.shape[2] :] = k, v
        return self.k, self.v


class Still(dict[int, Any]):
    """A memory that does not grow: every step is the same step."""

    def __setitem__(self, number: int, value: Any) -> None:
        """Forget what a step would remember."""

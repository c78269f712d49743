"""How many operators of torch a call calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def called(call: Callable[[], object]) -> int:
    """Operators of one call, views left out."""
    counter = Operators()
    with counter:
        call()
    return counter.count


class Operators(TorchDispatchMode):
    """Counts the operators that torch calls inside; views compute nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Count and call."""
        del types
        # a cast may return what it is given, and is called a view for that
        self.count += not func.is_view or func.overloadpacket is torch.ops.aten.to
        return func(*args, **kwargs or {})

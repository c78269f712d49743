"""Bytes of live tensors while torch works, and the most there were; tensors need no data for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Live(TorchDispatchMode):
    """Counts every storage on one device from the operator that makes it to its last reference."""

    def __init__(self, *known: Tensor, device: str = "meta") -> None:
        super().__init__()
        self.now = self.peak = 0
        self.device = device
        self._seen: dict[int, weakref.ref[UntypedStorage]] = {}
        for one in known:
            self._see(one)

    def restart(self) -> int:
        """The peak so far; it begins anew."""
        peak, self.peak = self.peak, self.now
        return peak

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self._see(leaf)
        self.peak = max(self.peak, self.now)
        return out

    def _see(self, tensor: Tensor) -> None:
        if tensor.device.type != self.device:
            return
        storage = tensor.untyped_storage()
        identity, size = storage._cdata, storage.nbytes()
        if identity not in self._seen:
            self._seen[identity] = weakref.ref(storage, self._gone(identity, size))
            self.now += size

    def _gone(self, identity: int, size: int) -> Callable[[object], None]:
        def gone(_: object) -> None:
            del self._seen[identity]
            self.now -= size

        return gone

"""How much memory does a graph of tensors need at once? As ggml's allocator lays them out.

A tensor is placed when it is computed and freed after its last use; an operation may overwrite its
own input where that is used nowhere else. Free room is taken from the tightest hole, else from the
end, so holes that fit nothing count: the peak is that of the layout, not of the live bytes.
Source: ggml/src/ggml-alloc.c of https://github.com/ggml-org/llama.cpp, and its dry runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ALIGNMENT = 32
"""Of a tensor on the CPU (ggml-backend.cpp: TENSOR_ALIGNMENT); CUDA's is 128."""
_END = 1 << 60


@dataclass(slots=True)
class Arena:
    """Free room as (offset, size), ascending; the last is endless."""

    alignment: int = ALIGNMENT
    peak: int = 0
    free: list[tuple[int, int]] = field(default_factory=lambda: [(0, _END)])

    def take(self, size: int) -> tuple[int, int]:
        """Room of `size` bytes in the tightest hole, the last of equals, else at the end."""
        size = max(1, -(-size // self.alignment)) * self.alignment
        free, best, least = self.free, len(self.free) - 1, _END
        for index in range(best):
            room = free[index][1]
            if size <= room <= least:
                best, least = index, room
        offset, room = free[best]
        if room == size:
            del free[best]
        else:
            free[best] = (offset + size, room - size)
        self.peak = max(self.peak, offset + size)
        return offset, size

    def give(self, block: tuple[int, int]) -> None:
        """Free a block and join it with its neighbours."""
        free, (offset, size) = self.free, block
        at = 0
        while free[at][0] < offset:
            at += 1
        if offset + size == free[at][0]:
            size += free.pop(at)[1]
        if at and sum(free[at - 1]) == offset:
            at -= 1
            offset, before = free.pop(at)
            size += before
        free.insert(at, (offset, size))


@dataclass(slots=True)
class Graph:
    """Tensors in the order they are computed; a tensor is known by its number."""

    inputs: list[int] = field(default_factory=list)
    """Numbers of the tensors that are filled from outside, all before anything is computed."""
    sizes: list[int] = field(default_factory=list)
    sources: list[tuple[int, ...]] = field(default_factory=list)
    overwrites: list[bool] = field(default_factory=list)

    def input(self, size: int) -> int:
        """A tensor filled from outside; it stays until its last use, for ever if it has none."""
        self.inputs.append(len(self.sizes))
        return self._add(size, (), overwrites=False)

    def op(self, size: int, *sources: int, inplace: bool = False) -> int:
        """A tensor computed from others; `inplace`: may overwrite one of its own size."""
        return self._add(size, sources, overwrites=inplace)

    def use(self, *sources: int) -> None:
        """What is computed goes elsewhere, as into the cache."""
        self._add(0, sources, overwrites=False)

    def _add(self, size: int, sources: tuple[int, ...], *, overwrites: bool) -> int:
        self.sizes.append(size)
        self.sources.append(sources)
        self.overwrites.append(overwrites)
        return len(self.sizes) - 1

    def peak(self, alignment: int = ALIGNMENT) -> int:
        """Bytes of the buffer that holds it all."""
        arena, uses = Arena(alignment=alignment), [0] * len(self.sizes)
        for sources in self.sources:
            for source in sources:
                uses[source] += 1
        placed = {number: arena.take(self.sizes[number]) for number in self.inputs}
        for number, (size, sources) in enumerate(zip(self.sizes, self.sources, strict=True)):
            if size and number not in placed:
                over = self._overwritten(number, uses, placed)
                placed[number] = arena.take(size) if over is None else placed.pop(over)
            for source in sources:
                uses[source] -= 1
                if not uses[source] and source in placed:
                    arena.give(placed.pop(source))
        return arena.peak

    def _overwritten(
        self, number: int, uses: list[int], placed: dict[int, tuple[int, int]]
    ) -> int | None:
        if not self.overwrites[number]:
            return None
        for source in self.sources[number]:
            alike = self.sizes[source] == self.sizes[number]
            if alike and uses[source] == 1 and source in placed:
                return source
        return None

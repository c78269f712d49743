"""How a step is run: plain numbers, whatever the options are called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from llmcalc.blueprint.parallel import Parallel

Schedule = Literal["1f1b", "interleaved", "zb-h1", "zb-h2", "gpipe", "dualpipe"]
Dealt = Literal["nothing", "optimizer", "gradients", "weights"]
"""What data ranks deal out among them: DDP, ZeRO-1, ZeRO-2, ZeRO-3 or FSDP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One way to run a step."""

    parallel: Parallel
    seq: int
    micro_batch: int = 1
    micro_batches: int = 1
    """Of one step on each replica."""
    vpp: int = 1
    """Chunks of layers on each pipeline stage."""
    schedule: Schedule = "1f1b"
    dealt: Dealt = "nothing"
    replicate: int = 1
    """Copies of what is dealt out, each among its own data ranks (HSDP)."""
    layers_again: float = 0.0
    """Share of the layers whose forward is computed again."""
    attention_again: bool = False
    """Whether the core of attention alone is computed again (selective recomputation)."""
    adapters: bool = False
    """Whether the weights are frozen: no gradients of theirs are computed or exchanged."""
    trained: int = 0
    """Numbers that are trained beside frozen weights, adapters and tables."""
    beside_flops: float = 0.0
    """FLOPs of the adapters for one token, forward."""
    table_flops: float = 0.0
    """FLOPs for the gradient of a head that is trained beside adapters, for one token."""
    weight_bytes: float = 2.0
    """Of a weight that ranks gather."""
    gradient_bytes: float = 2.0
    """Of a gradient that ranks exchange."""
    updated_bytes: float = 28.0
    """That the optimizer reads and writes for each trained weight: a 16-bit gradient and weight,
    and both ways a float32 master and two moments."""
    states_on_host: bool = False
    """Whether masters and moments stay there, and are updated there."""
    weights_on_host: bool = False
    paged_bytes: float = 0.0
    """Of the states of a weight that the driver brings up for the update and takes down again."""
    host_bytes: float = 28.0
    """That an optimizer on the host reads and writes for each weight: its gradient, master and
    moments, which it writes too, and the weight that goes up."""

    @property
    def tokens(self) -> int:
        """Of one micro-batch of one replica."""
        return self.micro_batch * self.seq

    @property
    def sharers(self) -> int:
        """Data ranks that deal out one copy of something among them."""
        split = self.parallel
        return 1 if self.dealt == "nothing" else max(1, split.dp * split.cp // self.replicate)

    @property
    def step_tokens(self) -> int:
        """Of one step, all replicas."""
        return self.tokens * self.micro_batches * self.parallel.dp


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Peaks of one device, in FLOP and bytes a second, and how devices hang together."""

    name: str
    compute: float
    """Of products, in the type that they are computed in."""
    attention: float
    """Of attention, which stays in 16 bits where products have eight."""
    bandwidth: float
    link: float
    """Between devices of one node, one direction."""
    node: int
    """Devices of one node."""
    linked: int
    """Devices that the link joins; others of the node are reached over the bus."""
    bus: float
    network: float
    """Of each device's card to other nodes, one direction."""
    host_link: float = 0.0
    """Between a device and its host, one direction."""
    host: float = 0.0
    """Of a host's memory, while an optimizer runs there."""
    near: float = 0.0
    """Seconds of one step of a ring to a device of the same node, however few bytes."""
    far: float = 0.0
    """The same to another node."""

    def reaching(self, share: float) -> Machine:
        """The same with a share of the bandwidth of its link and network."""
        return replace(
            self, link=self.link * share, bus=self.bus * share, network=self.network * share
        )

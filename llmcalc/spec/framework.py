"""A training framework: what it takes for itself, and how it does what others do otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from llmcalc.spec.limits import Alias, Bool, Few, Length, Line, Name, Range

Share = Annotated[float, Range(0, 1)]
Buffer = Annotated[int, Range(0, 2**40)]
Kernels = Literal["eager", "sdpa", "fused"]
Losses = Literal["eager", "shifted", "plain", "chunked", "fused", "linear", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rlhf:
    """How a framework trains on preferences, and brings new weights to the engine."""

    source: Line = "assumed: one tensor at a time, as TRL and OpenRLHF do"
    completion_logits: tuple[Name, ...] = ()
    """Algorithms of which logits are computed of completions only, not of prompts."""
    merges_whole: Bool = False
    """Whether dealt-out weights are gathered all at once where adapters are merged into them."""
    bucket: Buffer = 0
    """Bytes of a buffer that new weights are handed over in; 0: one tensor after another."""
    sleep_level: Annotated[int, Range(1, 2)] = 1
    """vLLM's: 1 keeps the engine's old weights on the host, 2 drops them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvme:
    """How what is kept on NVMe passes through the memory of the host, in numbers."""

    source: Line = (
        "DeepSpeed of August 2026, runtime/zero/offload_config.py, buffer_count 4 and 5, "
        "buffer_size 1e8, max_in_cpu 1e9; config.py, sub_group_size 1e9"
    )
    optimizer_buffers: Few = 4
    """Each of a sub-group of optimizer states."""
    sub_group: Length = 10**9
    weight_buffers: Few = 5
    weight_buffer: Length = 10**8
    weights_in_cpu: Length = 10**9
    """That stay in the host's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """Constants of one framework, each with its source."""

    name: Name
    title: Line
    aliases: tuple[Alias, ...] = ()
    source: Line
    context: Buffer
    """Bytes of the CUDA context and of libraries, which the driver counts and torch does not."""
    communication: Buffer = 0
    """The same of NCCL where several devices work together."""
    workspace: Buffer = 0
    """Bytes that torch allocates for cuBLAS and the like."""
    reserve: Share = 0.0
    """What the allocator holds beyond the peak of live tensors, as a share of that."""
    bucket: Buffer = 0
    """Bytes of each of two buckets that gradients are summed in over ranks."""
    buckets_first: Bool = False
    """Whether both buckets are allocated whole before the first gradient, on one GPU too."""
    recipe: Name
    """Precision where none is asked for."""
    adapters: Name | None = None
    """Precision of adapters; None: as of all that is trained."""
    kernels: Kernels = "sdpa"
    loss: Losses = "eager"
    keeps_logits: Bool = False
    """Whether the training loop holds the model's logits until the step is over."""
    persistent_gradients: Bool = False
    """Whether gradients stand in buffers of their own all the time."""
    gradient_of_each_shape: Bool = False
    """Whether one 16-bit gradient of each shape of matrix is held beside the main gradients."""
    foreach: Few = 1
    """Moments more that the optimizer step makes of all tensors at once: none where it is fused."""
    wide_table_states: Bool = False
    """Whether 8-bit optimizers keep 32-bit states of token tables."""
    adapter_dropout: Bool = True
    """Whether adapters see a dropped-out copy of their input where nobody says."""
    keeps_gathered: Bool = False
    """Whether a sharded model is gathered whole, weights and gradients, until the step."""
    unties: Bool = False
    """Whether a head that is the token table is a matrix of its own here."""
    joined_qkv: Bool = False
    """Whether values are a view of the joined projection, which is then kept whole."""
    quantised_inputs: Few = 0
    """Copies of the input of a quantised product that are kept though it is frozen."""
    keeps_widened: Bool = False
    """Whether quantised matrices are kept as products saw them, until the backward pass."""
    peft: Bool = False
    """Whether adapters are PEFT's, which stand beside the layers of a class, not our products."""
    quantised_experts: Bool = True
    """Whether frozen experts are quantised as other products are."""
    widens_frozen: Bool = False
    """Whether 16-bit weights beside quantised ones are made float32."""
    stray_table_gradient: Bool = False
    """Whether the token table beside quantised products has a gradient that no step clears."""
    copies_dealt_out: Bool = False
    """Whether gathered weights, and gradients to deal out, pass through buffers (FSDP2)."""
    prefetched: Few = 1
    """Units of a sharded model that are gathered ahead of the one that computes."""
    rlhf: Rlhf = Rlhf()
    nvme: Nvme = Nvme()
    """What offloading to NVMe takes, assumed as DeepSpeed's for others."""

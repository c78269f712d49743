"""How a model is trained: everything that was asked for, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from llmcalc.blueprint.keeping.tensor import FROZEN, TRAINED, Frozen, Kernel
from llmcalc.blueprint.parallel import Parallel
from llmcalc.engines.train.offload import To
from llmcalc.engines.training import Sharding
from llmcalc.spec.framework import Framework, Losses
from llmcalc.spec.optimizer import Optimizer
from llmcalc.spec.quantization import Quantization
from llmcalc.spec.recipe import Recipe

Recompute = Literal["none", "selective", "full"]
Schedule = Literal["1f1b", "interleaved", "zb-h1", "zb-h2", "gpipe", "dualpipe"]
Method = Literal["full", "lora", "qlora", "dora"]
Offload = Literal["none", "optimizer", "parameters", "all"]

QUANTISED: Frozen = frozenset({"table"})
"""Where inputs of quantised products are kept, frozen or not: bitsandbytes before 0.43.2
(autograd/_functions.py, MatMul4Bit: `ctx.tensors = (A, B)`, since then `(None, B)`)."""

ALONE = Parallel()


class Pair(NamedTuple):
    """One pair of low-rank factors, beside one layer."""

    products: tuple[str, ...]
    """Names of what the layer computes; the first factor is one for all of them."""
    cut: int = 1
    """Of how many such layers a product is made, each with a pair of its own."""
    wide: int = 1
    """Times the rank that its factors have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """Low-rank factors beside frozen products: which products, and what rank."""

    targets: frozenset[str]
    """As people name them."""
    rank: int
    pairs: tuple[Pair, ...] = ()
    """What the names mean for one model; empty until it is known which."""
    magnitudes: bool = False
    """DoRA: one more number for each output."""
    trained: frozenset[str] = frozenset()
    """Tables that are trained whole as a copy of their own: embedding, head."""
    quantised: bool = False
    """QLoRA: whether the frozen products are stored in fewer bits than they compute in."""
    dropout: bool = True
    """Whether they see a dropped-out copy of their input, which is kept with its mask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to train."""

    recipe: Recipe
    optimizer: Optimizer
    framework: Framework
    frozen: Quantization
    """How weights that adapters stand beside are stored."""
    adapters: Adapters | None = None
    sharding: Sharding = "ddp"
    replicate: int = 1
    """Copies of what is dealt out, each among its own data ranks (HSDP)."""
    parallel: Parallel = ALONE
    sequence_parallel: bool = False
    schedule: Schedule = "1f1b"
    vpp: int = 1
    micro_batch: int = 1
    micro_batches: int = 1
    """Of one step on one rank: gradients are summed over them."""
    seq: int = 2048
    with_logits: int | None = None
    """Tokens at the end of each sequence whose logits are computed; None: all."""
    kernels: Kernel = "sdpa"
    loss: Losses = "eager"
    recompute: Recompute = "none"
    every: int = 1
    """Layers that are computed again together."""
    one_in: int = 1
    """Of so many layers one is computed again (torchtitan, selective_ac_option)."""
    offload: Offload = "none"
    """What is kept beside the GPU; the optimizer's states take their gradients with them."""
    offload_to: To = "cpu"
    imbalance: float = 1.0
    """Tokens of the busiest expert rank over those of a balanced one, capacity included."""

    @property
    def method(self) -> Method:
        """What is trained, in a word."""
        if self.adapters is None:
            return "full"
        if self.adapters.magnitudes:
            return "dora"
        return "qlora" if self.adapters.quantised else "lora"

    @property
    def not_trained(self) -> Frozen:
        """Weights without gradients."""
        if self.adapters is None:
            return TRAINED
        inputs = self.adapters.quantised and self.framework.quantised_inputs
        return QUANTISED if inputs else FROZEN

    @property
    def data_ranks(self) -> int:
        """Ranks that hold the same weights where nothing is dealt out."""
        return self.parallel.dp * self.parallel.cp

    @property
    def stages_held(self) -> int:
        """Stages that a rank has the weights of; DualPipe feeds a pipeline from both ends."""
        return 2 if self.schedule == "dualpipe" else 1

    @property
    def shard_ranks(self) -> int:
        """Data ranks that deal out one copy among them."""
        return self.data_ranks // self.replicate

    @property
    def sharded_weights(self) -> bool:
        """Whether each rank holds a part of every weight and gathers the rest when it computes."""
        return self.sharding in {"zero3", "fsdp"}

    @property
    def copies_dealt_out(self) -> bool:
        """Whether what is gathered and dealt out is copied in and out of buffers, as by FSDP2."""
        dealt_out = self.sharding == "fsdp" and self.adapters is None
        return dealt_out and self.framework.copies_dealt_out

    @property
    def states_offloaded(self) -> bool:
        """Whether optimizer states, masters and gradients are kept beside the GPU."""
        return self.offload in {"optimizer", "all"}

    @property
    def weights_offloaded(self) -> bool:
        """Whether weights are."""
        return self.offload in {"parameters", "all"}

    @property
    def summed(self) -> bool:
        """Whether gradients of earlier micro-batches stand beside the activations of a later."""
        lasting = self.micro_batches > 1 or self.framework.persistent_gradients
        return lasting and not self.optimizer.in_backward

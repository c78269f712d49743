"""How one model is spread over devices: the ranks along each axis, and what they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Spare = Literal["inner", "last", "first"]
"""Which stages take a layer more where they do not divide the model evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Ranks along each axis; `dp` counts replicas, each with a share of the sequences.

    Other options name what engines do differently with the same ranks; their defaults are the
    plain case.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    """Ranks that deal out whole experts, among the tensor, context and data ranks."""
    dp: int = 1
    cp: int = 1
    """Devices beside the tensor ranks that share the tokens of each sequence."""
    dcp: int = 1
    """Tensor ranks that share the cached tokens of a head which each would else hold whole."""
    attention_dp: int = 1
    """Groups of tensor ranks that each hold all heads and their own share of the sequences."""
    stages: tuple[int, ...] = ()
    """Layers of each pipeline stage; empty: as even as they go."""
    spare: Spare = "inner"
    """The stages that get the rest: from the last but one towards the first, as in vLLM; the last
    ones, as in SGLang; the first ones, as in TensorRT-LLM."""
    redundant_experts: int = 0
    """Copies of busy experts, dealt out like the experts of every layer."""
    uneven_experts: bool = False
    """Whether some expert ranks may hold one expert more than others."""
    experts_over_data: bool = False
    """Whether data and context ranks cut the rows of experts too, instead of copying them."""
    whole_shared_experts: bool | None = None
    """Whether each rank holds the shared experts whole; None: as vLLM decides."""
    vocab_multiple: int = 1
    """The vocabulary is filled up to a multiple of this many rows before it is dealt out."""

    @property
    def gpus(self) -> int:
        """Devices in use; experts are dealt out within the tensor, context and data ranks."""
        return self.pp * self.expert_ranks

    @property
    def expert_ranks(self) -> int:
        """Ranks of one stage, among which experts may be dealt out."""
        return self.tp * self.cp * self.dp

    @property
    def alone(self) -> bool:
        """Whether no two devices work on one sequence."""
        coupled = self.experts_over_data and self.dp > 1
        return self.tp == self.pp == self.ep == self.cp == 1 and not coupled

    @property
    def replicas(self) -> int:
        """Groups of ranks that divide the sequences among them."""
        return self.dp * self.attention_dp

    @property
    def attention_tp(self) -> int:
        """Ranks that deal out the heads of attention and of recurrences."""
        return self.tp // self.attention_dp

    @property
    def expert_rows(self) -> int:
        """Ranks that cut the rows of one expert between them.

        Fewer expert ranks than tensor ranks leave tensor / expert ranks for each expert (SGLang
        moe_tp_size, python/sglang/srt/distributed/parallel_state.py; TensorRT-LLM
        moe_tensor_parallel_size); in vLLM `ep` is always all ranks of a stage.
        """
        if self.ep > 1:
            return max(1, self.tp // self.ep)
        return self.expert_ranks if self.experts_over_data else self.tp

    @property
    def shared_whole(self) -> bool:
        """Whether shared experts stand whole on each rank.

        vLLM 0.32.0 does so where the tokens of experts are dealt out too (config/parallel.py,
        use_sequence_parallel_moe): with experts over both tensor and data ranks. SGLang does with
        the DeepEP backend: say it with `whole_shared_experts`.
        """
        if self.whole_shared_experts is None:
            return self.ep > 1 and self.tp > 1 and self.dp > 1
        return self.whole_shared_experts


def tokens_on_rank(tokens: int, parallel: Parallel, *, interleave: int = 1) -> int:
    """The tokens of one sequence that the fullest of the ranks sharing it caches.

    Runs of `interleave` tokens go round the ranks (vLLM --cp-kv-cache-interleave-size, default 1).
    """
    rounds, rest = divmod(tokens, parallel.cp * parallel.dcp * interleave)
    return rounds * interleave + min(rest, interleave)


def even_stages(layers: int, pp: int, spare: Spare = "inner") -> tuple[int, ...]:
    """How many layers each of `pp` stages gets.

    vLLM 0.32.0 (vllm/distributed/utils.py, get_pp_indices) gives the rest to the last stage but
    one, the one before it and so on, so that the stages with the head and the embedding come last;
    SGLang (python/sglang/srt/distributed/utils.py, get_pp_indices) to the last stages, and
    TensorRT-LLM (tensorrt_llm/mapping.py, pp_layers) to the first.
    """
    base, more = divmod(layers, pp)
    first = {"inner": pp - 1 - more, "last": pp - more, "first": 0}[spare]
    return tuple(base + (first <= stage < first + more) for stage in range(pp))

"""Feed-forward parts: an MLP, and a mixture of experts that each token visits a few of."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812  the usual name
from torch import Tensor, nn

from llmcalc.spec.parts import Activation, Mlp, Moe
from llmcalc.twin.fused import FusedGate
from llmcalc.twin.setting import Pass, Setting

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
}


def gated(act: Callable[[Tensor], Tensor], gate: Tensor, up: Tensor, *, fused: bool) -> Tensor:
    """act(gate) ⊙ up, by one kernel or two."""
    if not fused:
        return act(gate) * up
    product: Tensor = FusedGate.apply(gate, up, act)  # type: ignore[no-untyped-call]
    return product


class MlpTwin(nn.Module):
    """W_down · (act(W_gate · x) ⊙ W_up · x), or W_down · act(W_up · x)."""

    fused = False

    def __init__(self, part: Mlp, setting: Setting, number: int) -> None:
        super().__init__()
        del number  # it remembers nothing
        d, d_ff = setting.hidden_size, part.intermediate_size
        self.act = ACTIVATIONS[part.activation]
        self.gate_proj = nn.Linear(d, d_ff, bias=part.bias) if part.gated else None
        self.up_proj = nn.Linear(d, d_ff, bias=part.bias)
        self.down_proj = nn.Linear(d_ff, d, bias=part.bias)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        del run
        up = self.up_proj(x)
        if self.gate_proj is None:
            inner = self.act(up)
        else:
            inner = gated(self.act, self.gate_proj(x), up, fused=self.fused)
        out: Tensor = self.down_proj(inner)
        return out


class MoeTwin(nn.Module):
    """Routed experts as grouped matmuls over the tokens sorted by expert, and a shared MLP."""

    correction_bias: Tensor
    fused = False

    def __init__(self, part: Moe, setting: Setting, number: int) -> None:
        super().__init__()
        d, d_e, experts = setting.hidden_size, part.intermediate_size, part.num_experts
        width = part.latent_size or d
        self.part, self.act = part, ACTIVATIONS[part.activation]
        self.router = nn.Linear(d, experts + part.zero_experts, bias=part.router_bias)
        if part.correction_bias:
            self.register_buffer("correction_bias", torch.zeros(experts + part.zero_experts))
        self.latent_in = nn.Linear(d, width, bias=False) if part.latent_size else nn.Identity()
        self.gate_proj = nn.Parameter(torch.empty(experts, d_e, width)) if part.gated else None
        self.up_proj = nn.Parameter(torch.empty(experts, d_e, width))
        self.down_proj = nn.Parameter(torch.empty(experts, width, d_e))
        self.latent_out = nn.Linear(width, d, bias=False) if part.latent_size else nn.Identity()
        if part.expert_bias:
            self.gate_bias = nn.Parameter(torch.empty(experts, d_e)) if part.gated else None
            self.up_bias = nn.Parameter(torch.empty(experts, d_e))
            self.down_bias = nn.Parameter(torch.empty(experts, width))
        self.shared = self._shared(setting, number)
        self.shared_gate = nn.Linear(d, 1, bias=False) if part.shared_gate else None

    def _shared(self, setting: Setting, number: int) -> MlpTwin | None:
        part = self.part
        if not part.shared_intermediate_size:
            return None
        wide = Mlp(
            intermediate_size=part.shared_intermediate_size,
            gated=part.gated,
            activation=part.activation,
        )
        return MlpTwin(wide, setting, number)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        flat = x.flatten(0, 1)
        share, chosen = self._routed(flat)
        mixed = self._experts(self.latent_in(flat), share, chosen)
        if self.part.zero_experts and not flat.is_meta:
            idle = (share * (chosen >= self.part.num_experts)).sum(1, keepdim=True)
            mixed = mixed + flat * idle
        mixed = self.latent_out(mixed).view_as(x)
        if self.shared is not None:
            always = self.shared(x, run)
            if self.shared_gate is not None:
                always = torch.sigmoid(self.shared_gate(x)) * always
            mixed = mixed + always
        out: Tensor = mixed
        return out

    def _routed(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Share and number of the experts that each token visits, [t, k] both.

        A softmax over all experts, or a sigmoid of each where a correction bias balances the
        choice; the shares of the chosen sum to one.
        """
        logits = self.router(flat)
        if self.part.correction_bias:
            scores = torch.sigmoid(logits.float())
            balanced = scores + self.correction_bias
            chosen = torch.topk(balanced, self.part.num_experts_per_tok).indices
            share = scores.gather(1, chosen)
        else:
            scores = F.softmax(logits, dim=-1, dtype=torch.float32)
            share, chosen = torch.topk(scores, self.part.num_experts_per_tok)
        return (share / share.sum(-1, keepdim=True)).to(flat.dtype), chosen

    def _experts(self, flat: Tensor, share: Tensor, chosen: Tensor) -> Tensor:
        """Each token through its experts: sorted by expert, multiplied in groups, summed up."""
        share, chosen = self._real(share, chosen)
        order = chosen.flatten().argsort()
        visits = chosen.flatten()[order]
        experts = torch.arange(1, self.part.num_experts + 1, device=flat.device)
        ends = torch.searchsorted(visits, experts)
        rows = flat[order // chosen.shape[1]]
        up = self._grouped(rows, self.up_proj, "up_bias", ends, visits)
        if self.gate_proj is None:
            inner = self.act(up)
        else:
            gate = self._grouped(rows, self.gate_proj, "gate_bias", ends, visits)
            inner = gated(self.act, gate, up, fused=self.fused)
        out = self._grouped(inner, self.down_proj, "down_bias", ends, visits)
        out = out * share.flatten()[order, None]
        places = torch.arange(order.shape[0], device=order.device)
        back = torch.empty_like(order).scatter_(0, order, places)
        return out[back].view(flat.shape[0], chosen.shape[1], -1).sum(1)

    def _real(self, share: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Visits without those to experts that only return their input.

        Without data every token makes the visits of a balanced one; with data such a visit goes to
        the first expert with no share in the result.
        """
        part = self.part
        if not part.zero_experts:
            return share, chosen
        if share.is_meta:
            every = part.num_experts + part.zero_experts
            visited = -(-part.num_experts_per_tok * part.num_experts // every)
            return share[:, :visited], chosen[:, :visited]
        real = chosen < part.num_experts
        return share * real, chosen * real

    def _grouped(
        self, rows: Tensor, weight: Tensor, bias: str, ends: Tensor, visits: Tensor
    ) -> Tensor:
        """Rows of each expert times its matrix: [t·k, d_in] to [t·k, d_out]."""
        out = F.grouped_mm(rows, weight.transpose(1, 2), offs=ends.to(torch.int32))
        if not self.part.expert_bias:
            return out
        table: Tensor = getattr(self, bias)
        return out + table[visits]

"""RWKV-4, token by token: a decaying average of the past, and a part that looks back one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llmcalc.spec.recurrent import RwkvChannel, RwkvTime
from llmcalc.twin.recurrence import scanned
from llmcalc.twin.setting import Pass, Setting


class RwkvTimeTwin(nn.Module):
    """Time mixing."""

    def __init__(self, part: RwkvTime, setting: Setting, number: int) -> None:
        super().__init__()
        d = setting.hidden_size
        width = part.attention_hidden_size or d
        self.number = number
        self.time_decay = nn.Parameter(torch.zeros(width))
        self.time_first = nn.Parameter(torch.zeros(width))
        self.mix_key = nn.Parameter(torch.ones(d))
        self.mix_value = nn.Parameter(torch.ones(d))
        self.mix_receptance = nn.Parameter(torch.ones(d))
        self.key = nn.Linear(d, width, bias=False)
        self.value = nn.Linear(d, width, bias=False)
        self.receptance = nn.Linear(d, width, bias=False)
        self.out_proj = nn.Linear(width, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        past = (run.memory or {}).get(self.number)
        before = shifted(x, None if past is None else past[0])
        k = self.key(torch.lerp(before, x, self.mix_key))
        v = self.value(torch.lerp(before, x, self.mix_value))
        r = torch.sigmoid(self.receptance(torch.lerp(before, x, self.mix_receptance)))
        state = None if past is None else past[1]
        mixed, state = scanned(averaged, k, v, self.time_decay, self.time_first, state)
        if run.memory is not None:
            run.memory[self.number] = x[:, -1], state
        result: Tensor = self.out_proj(r * mixed)
        return result


def averaged(
    k: Tensor, v: Tensor, time_decay: Tensor, time_first: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The weighted average of values at each token, in a form that does not overflow.

    The state [3, b, a] holds a sum, a weight and the largest exponent so far.
    """
    if state is None:
        empty = torch.zeros_like(k[:, 0])
        state = torch.stack((empty, empty, empty - 1e38))
    total, weight, top = state
    decay, seen = -torch.exp(time_decay), []
    for t in range(k.shape[1]):
        peak = torch.maximum(top, time_first + k[:, t])
        old, new = torch.exp(top - peak), torch.exp(time_first + k[:, t] - peak)
        seen.append((old * total + new * v[:, t]) / (old * weight + new))
        peak = torch.maximum(top + decay, k[:, t])
        old, new = torch.exp(top + decay - peak), torch.exp(k[:, t] - peak)
        total, weight, top = old * total + new * v[:, t], old * weight + new, peak
    return torch.stack(seen, dim=1), torch.stack((total, weight, top))


class RwkvChannelTwin(nn.Module):
    """Channel mixing."""

    def __init__(self, part: RwkvChannel, setting: Setting, number: int) -> None:
        super().__init__()
        d = setting.hidden_size
        self.number = number
        self.mix_key = nn.Parameter(torch.ones(d))
        self.mix_receptance = nn.Parameter(torch.ones(d))
        self.key = nn.Linear(d, part.intermediate_size, bias=False)
        self.receptance = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(part.intermediate_size, d, bias=False)

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        """[b, s, d] to [b, s, d]."""
        past = (run.memory or {}).get(self.number)
        before = shifted(x, None if past is None else past[0])
        if run.memory is not None:
            run.memory[self.number] = (x[:, -1],)
        k = torch.relu(self.key(torch.lerp(before, x, self.mix_key))).square()
        r = torch.sigmoid(self.receptance(torch.lerp(before, x, self.mix_receptance)))
        result: Tensor = r * self.value(k)
        return result


def shifted(x: Tensor, past: Tensor | None) -> Tensor:
    """Each token's place taken by the one before it, [b, s, d]."""
    before = torch.zeros_like(x[:, :1]) if past is None else past[:, None]
    return torch.cat((before, x[:, :-1]), dim=1)

"""What grows with the tokens computed at once: activations alive, logits, what a sampler needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from llmcalc.blueprint.operations import Ledger
from llmcalc.engines import activations
from llmcalc.engines.part import Part
from llmcalc.engines.serving import Serving
from llmcalc.formula import formula
from llmcalc.spec.runtime import LayerScratch, ProfileScratch


class Scratch(Protocol):
    """Scratch space as a function of what is computed."""

    def bytes(self, batch: int, seq: int) -> int:
        """Bytes while `batch` sequences of `seq` tokens are served."""

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """The same bytes, itemised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WidestLayer:
    """The widest moment of one layer for a chunk of the prompts, and a row of logits each."""

    form: LayerScratch
    chunk: int
    chunk_source: str
    hidden_size: int
    widest: int
    head: int
    """Rows of the output head, 0 where it is on another stage."""

    def bytes(self, batch: int, seq: int) -> int:
        """Bytes of activations and logits."""
        return self._live(batch, seq) + self._logits(batch)

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:
        """Activations and logits apart."""
        return (
            Part(name="live activations", group="activations", bytes=self._live(batch, seq),
                 basis="modelled", source=self.chunk_source),
            Part(name="logits", group="activations", bytes=self._logits(batch), basis="modelled",
                 source=self.form.source),
        )  # fmt: skip

    def _live(self, batch: int, seq: int) -> int:
        live: int = activations.live_bytes(
            tokens=activations.tokens_in_flight(batch, seq, self.chunk), d=self.hidden_size,
            widest=self.widest, bytes=activations.ELEMENT_BYTES,
        )  # fmt: skip
        return live

    def _logits(self, batch: int) -> int:
        if not self.head:
            return 0
        logits: int = activations.logits_bytes(b=batch, V=self.head, bytes=self.form.logits_bytes)
        return logits


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """The peak of a run at the engine's limits when it starts, whatever is served later."""

    form: ProfileScratch
    tokens: int
    seqs: int
    hidden_size: int
    widest: int
    head: int

    def bytes(self, batch: int, seq: int) -> int:  # noqa: ARG002  reserved, whatever is served
        """The larger of forward pass and sampler."""
        return max(self._forward(), self._sampler())

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:  # noqa: ARG002
        """The peak, named for what reaches it."""
        forward, sampler = self._forward(), self._sampler()
        name = "sampler peak" if sampler > forward else "forward peak"
        return (
            Part(name=name, group="activations", bytes=max(forward, sampler), basis="modelled",
                 source=self.form.source),
        )  # fmt: skip

    def _forward(self) -> int:
        forward: int = forward_bytes(
            tokens=self.tokens, d=self.hidden_size, copies=self.form.forward_copies,
            widest=self.widest,
        )  # fmt: skip
        return forward

    def _sampler(self) -> int:
        if not self.head:
            return 0
        sampler: int = sampler_bytes(
            seqs=min(self.seqs, self.tokens), V=self.head, tokens=self.tokens, d=self.hidden_size,
            sampler_copies=self.form.sampler_copies, hidden_copies=self.form.hidden_copies,
        )  # fmt: skip
        return sampler


@formula(
    "int(tokens · (copies · d + widest) · 2)",
    source="hidden states beside the outputs alive in the widest part of a layer, 16 bits each",
    unit="bytes",
    basis="modelled",
)
def forward_bytes(*, tokens: int, d: int, copies: float, widest: int) -> int:
    """Bytes alive at the widest moment of a forward pass of one chunk."""
    return int(tokens * (copies * d + widest) * 2)


@formula(
    "int(seqs · V · sampler_copies · 4 + tokens · d · hidden_copies · 2)",
    source="float32 copies of the logits while sampling, 16-bit hidden states of the chunk",
    unit="bytes",
    basis="modelled",
)
def sampler_bytes(
    *, seqs: int, V: int, sampler_copies: float, tokens: int, d: int, hidden_copies: float  # noqa: N803
) -> int:  # fmt: skip
    """Bytes while one token of each of `seqs` sequences is sampled."""
    return int(seqs * V * sampler_copies * 4 + tokens * d * hidden_copies * 2)


def widest_layer(form: LayerScratch, rank: Ledger, serving: Serving) -> WidestLayer:
    """The scratch space of a rank, by its widest layer."""
    known = serving.runtime.settings.get("max_num_batched_tokens")
    return WidestLayer(
        form=form, chunk=serving.tokens_at_once, chunk_source=known.source if known else "",
        hidden_size=rank.hidden_size, widest=activations.widest(rank),
        head=activations.head_width(rank),
    )  # fmt: skip


def profile_run(form: ProfileScratch, rank: Ledger, serving: Serving) -> ProfileRun:
    """The scratch space of a rank, by a profiling run."""
    return ProfileRun(
        form=form, tokens=serving.tokens_at_once, seqs=serving.settings.max_num_seqs or 1,
        hidden_size=rank.hidden_size, widest=activations.widest(rank, with_input=True),
        head=activations.head_width(rank),
    )  # fmt: skip

"""What grows with the tokens computed at once: activations alive, logits, what a sampler needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


PIXEL_BYTES = 6
"""Of one number of an image: float32 as it comes, and 16 bits as the tower reads it."""


class Tower(NamedTuple):
    """One kind of layer of a tower."""

    width: int
    widest: int
    per_token: int
    """Patches or frames that one token of the language model stands for."""
    pixels: int
    """Numbers that a patch is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """The peak of a run at the engine's limits when it starts, whatever is served later."""

    form: ProfileScratch
    tokens: int
    seqs: int
    hidden_size: int
    widest: int
    head: int
    towers: tuple[Tower, ...] = ()

    def bytes(self, batch: int, seq: int) -> int:  # noqa: ARG002  reserved, whatever is served
        """The largest of forward pass, sampler and towers."""
        return max(self._peaks().values())

    def parts(self, batch: int, seq: int) -> tuple[Part, ...]:  # noqa: ARG002
        """The peak, named for what reaches it."""
        peaks = self._peaks()
        name = max(peaks, key=peaks.__getitem__)
        return (
            Part(name=f"{name} peak", group="activations", bytes=peaks[name], basis="modelled",
                 source=self.form.source),
        )  # fmt: skip

    def _peaks(self) -> dict[str, int]:
        """Bytes of each phase of the run."""
        towers = max((self._tower(one) for one in self.towers), default=0)
        return {"forward": self._forward(), "sampler": self._sampler(), "encoder": towers}

    def _tower(self, tower: Tower) -> int:
        """A tower that computes images or sounds for as many tokens as a step has."""
        patches = self.tokens * tower.per_token
        peak: int = forward_bytes(
            tokens=patches, d=tower.width, copies=self.form.forward_copies, widest=tower.widest
        )
        return peak + patches * tower.pixels * PIXEL_BYTES

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
    return tokens * (_thousandths(copies) * d + 1_000 * widest) * 2 // 1_000


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
    logits = seqs * V * _thousandths(sampler_copies) * 4
    hidden = tokens * d * _thousandths(hidden_copies) * 2
    return (logits + hidden) // 1_000


def _thousandths(copies: float) -> int:
    """A constant as its file writes it, in whole numbers: bytes are not rounded twice."""
    return round(1_000 * copies)


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
        hidden_size=rank.hidden_size,
        widest=activations.widest(rank, with_input=True, scan_copies=form.scan_copies),
        head=activations.head_width(rank), towers=tuple(_towers(rank)),
    )  # fmt: skip


def _towers(rank: Ledger) -> Iterator[Tower]:
    """Each kind of layer of each tower; what a patch is made of stands beside the layers."""
    sections = [section for section in rank.sections if section.stream == "tower"]
    tables = [
        weight
        for section in sections
        for operation in section.operations
        for weight in getattr(operation, "weights", ())
        if weight.name.startswith("patch_") and len(weight.shape) > 1
    ]
    pixels = max((weight.numel // weight.shape[0] for weight in tables), default=0)
    for one in sections:
        if one.width:
            widest = activations.widest_part(one, with_input=True)
            yield Tower(one.width, widest, one.per_token, pixels)

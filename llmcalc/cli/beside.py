"""What is loaded beside a model: options of the questions about serving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from llmcalc import units
from llmcalc.cli.complete import model_names

if TYPE_CHECKING:
    from llmcalc.engines.beside import Beside

PANEL = "Beside the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideOptions:
    """Speculative decoding, adapters, a shared prefix, an encoder at work."""

    draft: Annotated[
        str | None,
        Option(
            metavar="MODEL", help="Model that proposes tokens.", rich_help_panel=PANEL,
            autocompletion=model_names,
        ),
    ] = None  # fmt: skip
    mtp: Annotated[
        bool,
        Option("--mtp", help="The model's own head proposes tokens.", rich_help_panel=PANEL),
    ] = False
    max_loras: Annotated[
        int,
        Option(metavar="N", parser=units.count, help="LoRA adapters at once.",
               rich_help_panel=PANEL),
    ] = 0  # fmt: skip
    max_lora_rank: Annotated[
        int, Option(metavar="R", parser=units.count, help="Their rank.", rich_help_panel=PANEL)
    ] = 16
    shared_prefix: Annotated[
        int,
        Option(
            metavar="TOKENS", parser=units.length, help="Same start of all sequences, cached once.",
            rich_help_panel=PANEL,
        ),
    ] = 0  # fmt: skip
    image_tokens: Annotated[
        int,
        Option(
            metavar="TOKENS", parser=units.length, help="Tokens that a tower makes at once.",
            rich_help_panel=PANEL,
        ),
    ] = 0  # fmt: skip

    def beside(self) -> Beside:
        """What is asked for. Raises LlmcalcError for an unknown draft or a negative number."""
        from llmcalc.api.setup import beside  # noqa: PLC0415  (commands load when called)
        from llmcalc.catalog import find  # noqa: PLC0415

        return beside(
            draft=find.card(self.draft) if self.draft else None, mtp=self.mtp,
            max_loras=self.max_loras, max_lora_rank=self.max_lora_rank,
            shared_prefix=self.shared_prefix, image_tokens=self.image_tokens,
        )  # fmt: skip

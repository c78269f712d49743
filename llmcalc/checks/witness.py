"""The third witness: every card's class of transformers, built on the meta device and counted.

`python -m llmcalc.checks.witness [CARD…]` prints a line for each card and needs the
extra `witness`.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card as card_of
from llmcalc.catalog.find import cards
from llmcalc.checks.class_faults import fault_of
from llmcalc.checks.hf_config import NotExpressibleError, hf_config, stand_in
from llmcalc.engines.params import count
from llmcalc.errors import LlmcalcError, MissingExtraError
from llmcalc.spec.card import ModelCard

Verdict = Literal["equal", "known fault", "no class", "differs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """What the class of one card says of its parameters."""

    card: str
    verdict: Verdict
    ours: int
    """Learned parameters by the blueprint; tied ones once, buffers and prediction heads apart."""
    theirs: int | None = None
    """Those of the class; None where there is none."""
    model_class: str = ""
    reason: str = ""
    """Of a fault, of a missing class, of a class that stands in for another, of a failure."""

    @property
    def ok(self) -> bool:
        """Whether nothing is left to explain."""
        return self.verdict != "differs"


def testify(card: ModelCard) -> Testimony:
    """Compare the card's parameters with those of its class; nothing is skipped without a word."""
    ours = count(lower(card)).total
    try:
        keys = hf_config(card)
    except NotExpressibleError as error:
        return Testimony(card=card.name, verdict="no class", ours=ours, reason=str(error))
    try:
        built = _built(keys, headless=not card.head)
    except Exception as error:  # noqa: BLE001  (whatever the class raises, it built no model)
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Testimony(card=card.name, verdict="differs", ours=ours, reason=told)
    theirs = sum(int(weight.numel()) for weight in built.parameters())
    verdict, reason = _judged(card, keys["model_type"], theirs - ours)
    return Testimony(
        card=card.name, verdict=verdict, ours=ours, theirs=theirs,
        model_class=type(built).__name__, reason=reason,
    )  # fmt: skip


def _judged(card: ModelCard, model_type: str, difference: int) -> tuple[Verdict, str]:
    fault = fault_of(model_type, card)
    if fault is None:
        equal = stand_in(card.name) or ""
        return ("equal", equal) if difference == 0 else ("differs", f"by {difference:+,}")
    if fault[1] == difference:
        return "known fault", fault[0]
    # Also where the class has lost the fault, so that its entry is taken out of the list.
    return "differs", f"by {difference:+,}, where {fault[1]:+,} is known: {fault[0]}"


def _built(keys: dict[str, Any], *, headless: bool) -> Any:
    """The class that a config names, on the meta device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch  # noqa: PLC0415  (seconds, and an extra)
        import transformers  # noqa: PLC0415

        transformers.logging.set_verbosity_error()
        config = transformers.CONFIG_MAPPING[keys["model_type"]].from_dict(dict(keys))
        named = (keys.get("architectures") or [None])[0]
        built = getattr(transformers, named) if named else _mapped(config, headless=headless)
        with torch.device("meta"):
            return built._from_config(config)  # noqa: SLF001  (from_config of the Auto classes calls it)


def _mapped(config: Any, *, headless: bool) -> Any:
    """The class that transformers itself picks: with a head, with images, or bare."""
    from transformers.models.auto import modeling_auto as auto  # noqa: PLC0415

    tables = [auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, auto.MODEL_FOR_CAUSAL_LM_MAPPING]
    for table in [auto.MODEL_MAPPING] if headless else tables:
        if type(config) in table:
            found = table[type(config)]
            return found[0] if isinstance(found, tuple) else found
    raise LookupError(f"transformers maps {type(config).__name__} to no class")


def main(names: Sequence[str]) -> int:
    """Print the testimony of each card, of all where none is named; 6 on a difference."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        hint = "pip install 'llmcalc-proof[witness]'"
        raise MissingExtraError("the witness needs torch and transformers", hint=hint)
    told = Counter[str]()
    for one in [card_of(name) for name in names] if names else cards():
        found = testify(one)
        told[found.verdict] += 1
        _say(line(found))
    _say(", ".join(f"{number} {verdict}" for verdict, number in sorted(told.items())))
    return 6 if told["differs"] else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def line(found: Testimony) -> str:
    """One card's testimony in words."""
    numbers = f"{found.ours:,}"
    if found.theirs is not None and found.theirs != found.ours:
        numbers += f", {found.model_class} {found.theirs:,} ({found.theirs - found.ours:+,})"
    elif found.theirs is not None:
        numbers += f" {found.model_class}"
    return f"{found.card}: {found.verdict}: {numbers}" + (
        f": {found.reason}" if found.reason else ""
    )


def run(names: Sequence[str]) -> int:
    """The exit code of `main`, an error told in two lines."""
    try:
        return main(names)
    except LlmcalcError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

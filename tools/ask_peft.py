"""Ask PEFT what it trains: adapters of rank 16 on the class of every card, on the meta device.

Usage: python tools/ask_peft.py [CARD...] > tests/data/peft_trainable.tsv

Needs torch, transformers and peft. A line holds the card, the class, the targets, the numbers that
PEFT trains, and how many of them stand outside of what a card itemises as products of the language
model: in towers, projectors, poolers and heads of classes.
"""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

from llmcalc.catalog.find import card, cards
from llmcalc.checks import witness
from llmcalc.checks.hf_config import NotExpressibleError, hf_config
from llmcalc.spec.card import ModelCard

RANK = 16
OUTSIDE = re.compile(
    r"vision|visual|audio|multi_modal|connector|embed_|pooler|(^|model\.)classifier\.|cls\.|lm_head\."
    r"|head\.dense|vocab_transform|discriminator_|altup|laurel|per_layer|seq_relationship"
)
MAMBA = {"falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h"}
"""Types for which PEFT refuses adapters beside the last projection of a mixer."""

REMOTE = {"chatglm3-6b": "modeling_chatglm.py", "internlm2-7b": "modeling_internlm2.py"}
"""Cards whose class in transformers names its layers otherwise than their own."""


def answer(one: ModelCard) -> tuple[str, ...]:
    """What PEFT says of one card. Raises NotExpressibleError where there is no class."""
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415  (seconds)
    from torch import device  # noqa: PLC0415

    if one.name in REMOTE:
        raise NotExpressibleError(f"its own class is {REMOTE[one.name]}")
    keys = hf_config(one)
    model: Any = witness._built(keys, headless=not one.head)  # noqa: SLF001
    targets: Any = "all-linear"
    if keys["model_type"] in MAMBA:
        leaves = {name.rpartition(".")[2] for name, part in model.named_modules() if _linear(part)}
        targets = sorted(leaves - {"out_proj", "lm_head"})
    config = LoraConfig(r=RANK, target_modules=targets)
    with device("meta"):
        made = get_peft_model(model, config, low_cpu_mem_usage=True)
    trained = {name: one.numel() for name, one in made.named_parameters() if one.requires_grad}
    outside = sum(size for name, size in trained.items() if OUTSIDE.search(name))
    named = targets if isinstance(targets, str) else ",".join(targets)
    return (
        one.name, type(model).__name__, named, str(sum(trained.values())), str(outside)
    )  # fmt: skip


def _linear(part: Any) -> bool:
    from torch import nn  # noqa: PLC0415

    return isinstance(part, nn.Linear)


def main(names: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    sys.stdout.write("card\tclass\ttargets\ttrainable\toutside\n")
    for one in [card(name) for name in names] if names else cards():
        try:
            sys.stdout.write("\t".join(answer(one)) + "\n")
            sys.stdout.flush()
        except NotExpressibleError as error:
            sys.stderr.write(f"{one.name}: {error}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Turn rows of open model data into cards, once; afterwards the YAML is the truth.

    python tools/cards_from_open_data.py FOLDER model_cards [NAME …]

FOLDER holds `truth.tsv` and `configs/<slug>.json`, as tests/data/models does. A card that exists
is kept: it may have been edited by hand. With names, only theirs are written.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import replace
from pathlib import Path

from card_names import (
    ALSO,
    CONFIDENCE,
    FAMILIES,
    INSTRUCTED,
    LEFT_OUT,
    OF_A_HEAD,
    RELEASED,
    TEXT_ONLY,
    UNDATED,
)

from llmcalc.catalog.huggingface import card_from_config, read_config
from llmcalc.catalog.write import card_yaml
from llmcalc.errors import InvalidFileError
from llmcalc.spec.card import ModelCard, Mtp, Published, Tensor
from llmcalc.spec.parts import Attention


def main() -> None:
    """Write the cards that are not there yet."""
    data, cards, asked = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    with (data / "truth.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        target = cards / f"{row['slug']}.yaml"
        if row["slug"] in LEFT_OUT or target.exists() or (asked and row["slug"] not in asked):
            continue
        text = (data / "configs" / f"{row['slug']}.json").read_text(encoding="utf-8")
        try:
            card = card_from_config(read_config(text, row["slug"]), row["slug"], row["slug"])
        except InvalidFileError as error:
            print(f"left out: {error.message}", file=sys.stderr)
            continue
        target.write_text(card_yaml(described(card, row)), encoding="utf-8")


def described(card: ModelCard, row: dict[str, str]) -> ModelCard:
    """The card with everything that the row knows beside the architecture."""
    slug = row["slug"]
    published = None
    told = row["published_relation"]
    unitemised = "not itemised" in told
    doubt = f"published are {row['published_total']}: {told}" if unitemised else ""
    if row["published_total"] and not unitemised:
        published = Published(
            params=int(row["published_total"]),
            relation=relation(told),
            source=public(row["published_source"]),
        )
    context = int(row["max_context"]) if row["max_context"] else None
    return replace(
        card,
        family=by_prefix(FAMILIES, slug) or card.family,
        aliases=aliases(row),
        released=None if slug in UNDATED else by_prefix(RELEASED, slug),
        source=source(row),
        confidence=CONFIDENCE[row["confidence"]],
        notes="; ".join(filter(None, (public(row["notes"]).strip("; "), doubt, card.notes)))
        or None,
        published=published,
        stored=stored(card, row),
        mtp=mtp(card, slug),
        max_position_embeddings=context or card.max_position_embeddings,
    )


def by_prefix(table: dict[str, str], slug: str) -> str | None:
    """The entry whose key is the longest start of `slug`."""
    found = [key for key in table if slug.startswith(key)]
    return table[max(found, key=len)] if found else None


def relation(text: str) -> str:
    """How the published count comes about, in words."""
    return text.lstrip("= ") if text.startswith("=") else f"total {text}"


def public(text: str) -> str:
    """A source in words that mean something to a reader."""
    text = text.strip('"')
    text = re.sub(r"code-index (?:file )?ids? ", "public code search, file ", text)
    text = re.sub(r"found by find_string .*?\(ids? (\d+)", r"by public code search (file \1", text)
    return text.replace("ANALYTIC (scripts/analytic.py)", "counted analytically")


def source(row: dict[str, str]) -> str:
    """Where the dimensions come from; what was recalled says what confirms it."""
    if row["slug"] == "glm-4.6":
        return "the dimensions of GLM-4.5, confirmed by the published count"
    if not row["source_of_config"].startswith("memory"):
        return public(row["source_of_config"])
    checked = "confirmed by the published count" if row["published_total"] else "not confirmed"
    return f"dimensions recalled from the public config.json, {checked} ({row['source_of_config']})"


def aliases(row: dict[str, str]) -> tuple[str, ...]:
    """The repository, its last part, a spelling with a hyphen and siblings that are alike."""
    slug, repo = row["slug"], row["hf_repo"]
    names = [re.sub(r"^([a-z]{2,})(\d)", r"\1-\2", slug), *ALSO.get(slug, [])]
    if "/" in repo and slug not in TEXT_ONLY and not slug.endswith(OF_A_HEAD):
        names += [repo, repo.split("/")[1].lower()]
        names += [repo + end for start, end in INSTRUCTED if repo.startswith(start)]
    unique = {name.lower(): name for name in names if name.lower() != slug}
    return tuple(unique.values())


def stored(card: ModelCard, row: dict[str, str]) -> tuple[Tensor, ...]:
    """What the published file holds besides parameters, correction biases and MTP heads."""
    slug, told = row["slug"], row["published_relation"]
    layers = sum(int(one.split("*")[0]) for one in card.layers if "*" in one) or 1
    if slug == "ernie-4.5-300b-a47b":
        return _ernie(card.hidden_size)
    found = []
    if "lm_head copy" in told:
        found.append(Tensor(name="lm_head.weight", shape=(card.vocab_size, card.hidden_size)))
    if "mask" in told:  # GPT-Neo: one mask for a global and a local layer, so one a group
        context = 1024 if slug.startswith("gpt2") else 2048
        found.append(Tensor(name="attn.bias", shape=(layers, context, context)))
    if dims := re.search(r"(?:mask \+ |layers x |40 x )(\d+)(?: rotary)? inv_freq", told):
        found.append(Tensor(name="rotary_emb.inv_freq", shape=(layers, int(dims[1]))))
    if "duplicated V x d" in told:
        shape = (card.vocab_size, card.hidden_size)
        found.append(Tensor(name="encoder.embed_tokens.weight", shape=shape))
    if "relative_attention_bias [32,heads]" in told:
        name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
        found.append(Tensor(name=name, shape=(32, _heads(card))))
    if "3416 unexplained" in told:
        found.append(Tensor(name="unexplained", shape=(61, 56)))
    return tuple(found)


def _heads(card: ModelCard) -> int:
    """Heads of the first attention."""
    parts = (part for block in card.blocks.values() for part in block.parts)
    return next(part.num_heads for part in parts if isinstance(part, Attention))


def _ernie(d: int) -> tuple[Tensor, ...]:
    """One dense layer for a further token, its projection and four norms."""
    shapes = {"q_proj": (d, d), "k_proj": (1024, d), "v_proj": (1024, d), "o_proj": (d, d)}
    wide = {"gate_proj": (28672, d), "up_proj": (28672, d), "down_proj": (d, 28672)}
    rest = {"linear_proj": (d, 2 * d), "norms": (4, d)}
    return tuple(Tensor(name=f"mtp.{k}", shape=v) for k, v in (shapes | wide | rest).items())


def mtp(card: ModelCard, slug: str) -> Mtp | None:
    """Heads for further tokens: as the config says, for GLM as the published files hold them."""
    if slug in ("glm-4.5", "glm-4.5-air", "glm-4.6"):
        own = slug != "glm-4.6"
        return Mtp(block="moe", own_embedding=own, own_head=own)
    if slug == "qwen3-next-80b-a3b":
        return Mtp(block="attn_moe")
    return card.mtp


if __name__ == "__main__":
    main()

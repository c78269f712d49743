"""A weight format from its file and its scheme, and the spellings under which people ask for it."""

from __future__ import annotations

import re

from llmcalc.errors import InvalidFileError
from llmcalc.spec.quantization import PolicyFile, Quantization
from llmcalc.spec.storage import Scheme


def resolved(found: PolicyFile, scheme: Scheme, group: int | None) -> Quantization:
    """A policy with the rules of its scheme after its own.

    Raises InvalidFileError where a rule or the default names no format of the scheme, or a rule on
    positions no group.
    """
    rules = (*found.rules, *scheme.rules)
    known = {format.name for format in scheme.formats}
    asked = {found.default, *(name for rule in rules for name in (rule.format, *rule.of))}
    if unknown := sorted(asked - known):
        raise InvalidFileError(
            f"{found.name}: {', '.join(unknown)} is no format of the scheme {scheme.name}",
            hint=f"have: {', '.join(sorted(known))}",
        )
    groups = {one.name for one in scheme.groups}
    if lost := [rule for rule in rules if rule.is_placed and groups.isdisjoint(rule.weights)]:
        raise InvalidFileError(
            f"{found.name}: the rule for {lost[0].format} asks for positions and names no group",
            hint=f"its weights must be one of: {', '.join(sorted(groups))}",
        )
    other = group != found.group
    return Quantization(
        name=f"{found.name}-g{group}" if other else found.name,
        title=f"{found.title}, but {group}" if other else found.title,
        aliases=() if other else found.aliases,
        source=found.source,
        bits=found.bits,
        scheme=scheme,
        default=found.default,
        group=group,
        computed=found.computed,
        adapters=found.adapters,
        imatrix=found.imatrix,
        rules=rules,
    )


def remark_free(name: str) -> str:
    """A name without what logs write around it: `mostly Q4_0`, `awq-int4 (marlin)`.

    Dashes between words and file types, as in `Q4_K - Medium`, lose their spaces.
    """
    bare = re.sub(r"\s*\([^)]*\)?\s*$", "", name[:200].strip())
    bare = re.sub(r"(?i)^mostly\s+", "", bare)
    return re.sub(r"\s+-\s+", "-", bare)


def split_group(name: str) -> tuple[str, int | None]:
    """`w4a16-g64` as its base and its group size, None where it names none."""
    match = re.fullmatch(r"(.+)-g(\d{1,5})", name)
    return (match[1], int(match[2])) if match and int(match[2]) else (name, None)

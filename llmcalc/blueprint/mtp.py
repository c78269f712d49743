"""Multi-token prediction: heads that guess the tokens after the next one."""

from __future__ import annotations

from llmcalc.blueprint.context import Context, norm
from llmcalc.blueprint.operations import Gather, Matmul, Operation, Section
from llmcalc.blueprint.stack import block
from llmcalc.blueprint.weight import weight
from llmcalc.spec.card import ModelCard, Mtp


def mtp_sections(card: ModelCard, mtp: Mtp, context: Context) -> tuple[Section, ...]:
    """Each head: two norms, a projection [d, 2·d], one block, a norm; as DeepSeek-V3 stores it."""
    dims = {"d": card.hidden_size, "V": card.vocab_size}
    operations: list[Operation] = [
        norm("mtp.token_norm", "d", dims, card.norm),
        norm("mtp.hidden_norm", "d", dims, card.norm),
        Matmul(
            name="mtp.project",
            weight=weight("mtp.eh_proj", "d, 2·d", dims, "other"),
            to_residual=True,
        ),
        *block(card.blocks[mtp.block], context),
        norm("mtp.final_norm", "d", dims, card.norm),
    ]
    if mtp.own_embedding:
        table = weight(
            "mtp.embed_tokens", "V, d", dims, "embedding", "embedding", units=card.vocab_size
        )
        operations.append(Gather(name="mtp.embed", weights=(table,)))
    if mtp.own_head:
        head = weight("mtp.lm_head", "V, d", dims, "lm_head", "head", units=card.vocab_size)
        operations.append(Matmul(name="mtp.lm_head", weight=head))
    return (Section(name="mtp", times=mtp.layers, operations=tuple(operations), kind="mtp"),)

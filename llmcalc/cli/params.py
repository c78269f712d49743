"""`llmcalc params`."""

from __future__ import annotations

from llmcalc.cli.command import command
from llmcalc.cli.options import Models, Online
from llmcalc.report.model import Report


@command(
    "llmcalc params llama2-7b",
    "llmcalc params llama2-7b --explain",
    "llmcalc params deepseek-v3 mixtral-8x7b --json",
    "llmcalc params path/to/config.json",
)
def params(model: Models, *, online: Online = False) -> Report:
    """Exact parameter counts by component, total and active."""
    from llmcalc.api.params import params as answer  # noqa: PLC0415  (commands load when called)
    from llmcalc.catalog.find import card  # noqa: PLC0415

    return answer([card(name, online=online) for name in model])

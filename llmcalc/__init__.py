"""llmcalc: capacity planning for large language models, no number without its proof."""

__version__ = "0.1.0"

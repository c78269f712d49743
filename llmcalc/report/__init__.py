"""Numbers on their way out: terminal, JSON, CSV, Markdown and worked solutions."""

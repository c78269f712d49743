"""`python -m llmcalc`, and the console command."""

from __future__ import annotations

import gc
import sys


def run() -> None:
    """Run the command line and leave with its exit code.

    A command lives for a tenth of a second, and collecting cycles while it imports costs a
    twentieth of that.
    """
    gc.disable()
    from llmcalc.cli.main import main  # noqa: PLC0415  (imported without collections)

    sys.exit(main())


if __name__ == "__main__":
    run()

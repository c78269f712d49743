"""`python -m llmcalc`, and the console command."""

from __future__ import annotations

import gc
import sys


def run() -> None:
    """Run the command line and leave with its exit code.

    A command lives for a tenth of a second: collecting cycles while it imports costs a twentieth of
    that, and looking for them when Python ends as much again.
    """
    gc.disable()
    from llmcalc.cli.main import main  # noqa: PLC0415  (imported without collections)

    code = main()
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    run()

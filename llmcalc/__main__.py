"""`python -m llmcalc`."""

import sys

from llmcalc.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

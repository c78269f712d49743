"""`llmcalc bench --collectives` with few and short messages; torchrun starts it on every rank."""

from __future__ import annotations

import sys

from llmcalc.bench import collectives, run, samples
from llmcalc.bench.effort import Effort
from llmcalc.cli.main import main

if __name__ == "__main__":
    collectives.QUICK = (2**12, 2**18)
    run.QUICK_LINKS = Effort(shortest=1e-4, repeats=5, budget=0.1, attempts=1)
    # on a busy machine few messages never agree, and this is no test of the machine
    samples.SPREAD = samples.DRIFT = 1e9
    sys.exit(main(["bench", "--collectives", "--quick", *sys.argv[1:]]))

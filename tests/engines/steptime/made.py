"""A model, a machine and rates of round numbers, for hand calculation."""

from __future__ import annotations

from llmcalc.blueprint.parallel import Parallel
from llmcalc.engines.steptime.amounts import Amounts
from llmcalc.engines.steptime.run import Machine, Run
from llmcalc.spec.utilisation import TrainingReach, Utilisation

WORK = Amounts(
    matmul=6e12, experts=0.0, attention=1e12, model=7e12, again=0.0, layers=10, passes=3.0,
    width=1000, vocab=0, tokens=1000, weights=1_000_000_000, expert_weights=0, reductions=20,
    carried=0.0, cached=2e6, top_k=0, groups=1, top_groups=1,
)  # fmt: skip
MACHINE = Machine(
    name="m",
    compute=1e14,
    attention=1e14,
    bandwidth=1e12,
    link=1e11,
    node=8,
    linked=8,
    bus=2e10,
    network=1e10,
)
REACH = TrainingReach(
    name="r", matmul=0.5, experts=0.5, attention=0.25, link=1.0, overlap=0.0,
    network_gb_s=10.0, source="test",
)  # fmt: skip
EVERY = Utilisation(
    name="u", title="u", source="test", element_copies=0.0, logit_copies=0.0, layer_seconds=0.0,
    tensor_link=1.0, classes=(REACH,),
)  # fmt: skip
ALONE = Run(parallel=Parallel(), seq=1000, adapters=True)

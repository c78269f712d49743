"""What we say of published runs that the fit has not seen, on 8 to 16,384 GPUs."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

from tests.published.runs_at_scale import FAR_OFF, RUNS, Published, error, said, verdict

DOCS = Path(__file__).parents[2] / "docs" / "training.md"
BOUND, MIDDLE = 0.20, 0.06
"""As found: Llama 3 405B is furthest off, by 18 %."""


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_published_run_is_foretold(run: Published) -> None:
    assert abs(error(run)) < BOUND


@pytest.mark.parametrize(
    "run",
    [run for run in RUNS if run.plan.get("framework") == "megatron-lm"],
    ids=lambda run: run.name,
)
def test_what_megatron_ran_fits(run: Published) -> None:
    """All but DeepSeek-V3, which computes norms and up-projections again: that is not modelled."""
    assert (verdict(run) == "no") == run.name.startswith("DeepSeek-V3")


def test_llama_3_405b_runs_without_recomputation_on_16_384_gpus() -> None:
    """At 8,192 tokens, as arXiv:2407.21783, section 3.3.2, has it; kernels are taken as fused."""
    (run,) = (one for one in RUNS if one.name == "Llama 3 405B, 16,384 H100")
    assert verdict(run, framework="megatron-lm") == "tight"


def test_half_of_them_are_foretold_closely() -> None:
    assert median(abs(error(run)) for run in RUNS) < MIDDLE


def test_zero_3_of_old_is_known_to_be_slower() -> None:
    """Where we fail we say so: exchanges of each parameter alone are not what we model."""
    assert min(error(run) for run in FAR_OFF) > BOUND


@pytest.mark.parametrize("run", [*RUNS, *FAR_OFF], ids=lambda run: run.name)
def test_the_docs_show_what_we_say(run: Published) -> None:
    """The table's rates, to the digits that it shows."""
    line = next(line for line in DOCS.read_text("utf-8").splitlines() if f"| {run.name} |" in line)
    published, ours, off = (float(re.sub("[^0-9.+-]", "", cell)) for cell in line.split("|")[3:6])
    assert published == pytest.approx(run.tokens_per_second_per_gpu, abs=0.06)
    assert ours == pytest.approx(said(run).tokens_per_second_per_gpu, abs=0.06)
    assert off == pytest.approx(100 * error(run), abs=0.06)

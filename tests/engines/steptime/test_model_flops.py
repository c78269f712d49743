"""FLOPs that MFU counts, against the papers and benchmarks that publish both."""

from __future__ import annotations

import pytest

from llmcalc.blueprint import lower
from llmcalc.catalog.find import card
from llmcalc.checks.measured.reading import read, shipped
from llmcalc.checks.measured.training_shapes import MPT
from llmcalc.engines import params
from llmcalc.engines.steptime.model_flops import (
    causal_flops_per_token,
    model_flops,
    palm_flops_per_token,
    seconds_at,
    utilisation,
)

PEAKS = {"h100_80gb": 989e12, "a100_80gb": 312e12, "a100_40gb": 312e12}
"""That llm-foundry divides by (scripts/train/benchmarking/collect_results.py)."""
FP8 = 1979e12


def test_palm_s_own_mfu() -> None:
    """238,300 tokens a second on 6,144 TPU v4 of 275 TFLOP/s are 46.2 %, without attention 45.7 %.

    arXiv:2204.02311, section 4.1 and appendix B.
    """
    whole = palm_flops_per_token(N=540_350_000_000, L=118, H=48, Q=256, T=2048)
    mfu = utilisation(flops=238_300 * whole, seconds=1, gpus=6144, peak=275e12)
    assert mfu == pytest.approx(0.462, abs=0.0005)
    plain = utilisation(flops=238_300 * 6 * 540.35e9, seconds=1, gpus=6144, peak=275e12)
    assert plain == pytest.approx(0.457, abs=0.0005)


def test_a_causal_mask_leaves_half_of_the_scores() -> None:
    """6·7 + 6·2·3·5·11 = 42 + 1,980."""
    assert causal_flops_per_token(N=7, L=2, H=3, Q=5, T=11) == 2022
    assert palm_flops_per_token(N=7, L=2, H=3, Q=5, T=11) == 42 + 2 * 1980


def test_llm_foundry_s_mfu_follows_from_its_tokens_a_second() -> None:
    """All 216 rows within 0.1 %, or one token of those that are printed: six have under 1,000."""
    (path,) = (one for one in shipped() if one.endswith("training_throughput.tsv"))
    found = within = 0
    for row in read(path):
        if not row.config["framework"].startswith("llm-foundry"):
            continue
        config, (width, layers, heads) = row.config, MPT[row.config["model"]]
        per_token = palm_flops_per_token(
            N=round(float(config["params_b"]) * 1e9), L=layers, H=heads, Q=width // heads,
            T=int(config["seq"]),
        )  # fmt: skip
        peak = FP8 if config["precision"] == "amp_fp8" else PEAKS[config["gpu"]]
        tokens = float(row.measured["tok_s_gpu"])
        mfu = 100 * utilisation(flops=tokens * per_token, seconds=1, gpus=1, peak=peak)
        printed = float(row.measured["mfu_pct"])
        assert mfu == pytest.approx(printed, rel=max(0.001, 1 / tokens)), row.id
        within += abs(mfu / printed - 1) <= 0.001
        found += 1
    assert found == 216
    assert within >= 210


@pytest.mark.parametrize(("convention", "attention"), [("full", 12), ("causal", 6), ("6n", 0)])
def test_a_ledger_counts_as_the_formula_does(convention: str, attention: int) -> None:
    """Llama-2-7B at 4,096: six for each weight that multiplies, and its share of 12·L·d·s."""
    ledger, seq = lower(card("llama2-7b")), 4096
    counted = params.count(ledger)
    multiplied = counted.total - counted.components["embedding"] - counted.components["norm"]
    wanted = (6 * multiplied + attention * 32 * 4096 * seq) * seq
    found = model_flops(ledger, seq, convention)  # type: ignore[arg-type]
    assert found == pytest.approx(wanted, rel=1e-4)  # causal: half and the diagonal


def test_experts_count_where_a_token_visits_them() -> None:
    """Mixtral 8x7B: 12.88 billion active parameters, 46.70 in all."""
    found = model_flops(lower(card("mixtral-8x7b")), 1, "6n")
    assert 6 * 12.6e9 < found < 6 * 12.88e9


def test_the_time_of_a_step_from_a_given_mfu() -> None:
    """6e18 FLOP on 10 GPUs of 1e15 FLOP/s at 40 % take 1,500 seconds."""
    assert seconds_at(flops=6e18, gpus=10, peak=1e15, mfu=0.4) == pytest.approx(1500)

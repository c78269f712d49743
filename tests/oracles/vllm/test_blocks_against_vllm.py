"""The real vLLM is asked again, one engine start an ask: our answer is its answer.

An hour of one core for all; `pytest -m engines -k vl17` asks one.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.oracles.vllm.collect import ask, asks, row_of
from tests.oracles.vllm.predicted import budget_of, pool_of

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(
        find_spec("vllm") is None,
        reason="vLLM is not installed: pip install 'llmcalc-proof[engines-vllm]' in a venv apart",
    ),
]


@pytest.mark.parametrize(("row_id", "line"), asks())
def test_the_engine_itself_says_so(row_id: str, line: str) -> None:
    row = row_of(row_id, ask(line))
    assert row, f"vLLM says nothing of its cache: {line}"
    pool, length, budget = pool_of(row), int(row["max_model_len"]), budget_of(row)
    if row["needed_gib"]:
        assert pool.bytes_of_request(length) / 2**30 == pytest.approx(
            float(row["needed_gib"]), abs=0.005
        )
        return
    assert pool.blocks(budget) == int(row["num_gpu_blocks"])
    assert pool.tokens(length, budget) == int(row["kv_tokens"])
    assert pool.concurrency(length, budget) == pytest.approx(
        float(row["max_concurrency_x"]), abs=0.005001
    )

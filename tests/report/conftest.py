"""Reports as commands give them, with numbers that are hard to set."""

from __future__ import annotations

import pytest

from llmcalc.formula import Step
from llmcalc.report.model import Column, Report, Table

GIB = 2**30


@pytest.fixture
def fit_report() -> Report:
    """Verdicts, sizes from bytes to terabytes, a missing value and a long text."""
    columns = (
        Column(key="model", title="model"),
        Column(key="verdict", title="verdict"),
        Column(key="needed", title="needed", unit="bytes"),
        Column(key="free", title="free", unit="bytes"),
        Column(key="max_batch", title="max batch", unit="count"),
        Column(key="max_context", title="max context", unit="tokens"),
        Column(key="limit", title="limit"),
    )
    rows = (
        ("gpt2", "fits", 1_234_567, 64 * GIB, 12_345_678, 1024, "context limit of the model"),
        ("llama2-13b", "tight", 77 * GIB, GIB // 4, 17, 4608, "memory"),
        ("deepseek-v3", "no", 2048 * GIB, -1024 * GIB, 0, None, "weights exceed one GPU"),
    )
    table = Table(columns=columns, rows=rows, title="on one a100-80", note="45 more: --all")
    assumptions = ("batch 16", "sequence 4,096", "weights bf16, KV cache bf16", "runtime generic")
    return Report(command="fit", results=(), tables=(table,), assumptions=assumptions)


@pytest.fixture
def steps() -> tuple[Step, ...]:
    """A product, a long name, a long sum in bytes, a ratio, and a repeat."""
    per_token = Step(
        name="kv_bytes_per_token",
        text="2 · h_kv · d_k · bytes",
        values={"h_kv": 32, "d_k": 128, "bytes": 2},
        result=16_384,
        unit="bytes",
        source="Shazeer 2019",
        note="one layer",
    )
    weight = Step(
        name="layer.attention.output.weight",
        text="d · (h · d_k) · layers",
        values={"d": 4096, "h": 32, "d_k": 128, "layers": 32},
        result=536_870_912,
        unit="parameters",
    )
    parts = {"embedding": 131_072_000, "attention": 2_147_483_648, "mlp": 4_328_521_728}
    parts |= {"norm": 266_240, "lm_head": 131_072_000}
    total = Step(
        name="total",
        text=" + ".join(parts),
        values=parts,
        result=6_738_415_616,
        unit="bytes",
        basis="modelled",
    )
    share = Step(name="share", text="a / b", values={"a": 1, "b": 3}, result=1 / 3)
    return per_token, weight, total, share, per_token

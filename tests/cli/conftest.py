"""The command line in this process, and a small catalog of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmcalc.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one command line did."""

    code: int
    out: str
    err: str


Llmcalc = Callable[..., Run]

CARD = """\
name: zz-tiny
family: zz-test
aliases: [zz-org/Tiny]
released: 2024-12
source: made for this test
hidden_size: 4
vocab_size: 10
max_position_embeddings: 64
blocks:
  layer:
    parts:
      - attn: {num_heads: 2}
      - mlp: {intermediate_size: 6}
layers: [layer]
"""
"""embedding 40 + head 40 + attention 4·16 + mlp 3·24 + norms 3·4 = 228 parameters."""

SPEC = """\
name: zz-gpu
title: ZZ Test Accelerator
aliases: [zz1]
vendor: ZZ
memory: {marketed_gb: 80, reported_mib: 81559, bandwidth_gb_s: 3350}
compute: {bf16: 989.4}
tdp_w: 700
prices:
  - {provider: dear, usd_per_hour: 3, date: 2026-01-02, source: a page}
  - {provider: cheap, usd_per_hour: 2.5, date: 2026-02-03, source: a page}
sources: {memory: a page, compute: a page}
"""


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped catalog, the two files above, and no trace of this machine's environment."""
    for folder, name, text in (("cards", "zz-tiny", CARD), ("gpus", "zz-gpu", SPEC)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        monkeypatch.setenv(f"LLMCALC_{folder.upper()}", str(tmp_path / folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("COLUMNS", "NO_COLOR", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def llmcalc(capsys: pytest.CaptureFixture[str]) -> Llmcalc:
    """Run a command line in this process."""

    def run(*arguments: str) -> Run:
        code = main(arguments)
        captured = capsys.readouterr()
        return Run(code=code, out=captured.out, err=captured.err)

    return run

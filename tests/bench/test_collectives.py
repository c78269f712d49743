"""Collectives between two processes of this machine, as torchrun starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def torchrun(ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={ranks}", "tests/bench/links.py",
    ]  # fmt: skip
    return subprocess.run(
        [*line, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )


def test_two_ranks_measure_every_collective_and_the_first_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCALC_MEASUREMENTS", str(tmp_path))
    run = torchrun(2, "--json", "--save", "pair")
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(run.stdout)["results"]
    assert not found["refused"]
    assert {(one["operation"], one["bytes"]) for one in found["collectives"]} == {
        (operation, size)
        for operation in ("all_reduce", "all_gather", "all_to_all", "send_recv")
        for size in (2**12, 2**18)
    }
    assert {(one["ranks"], one["backend"]) for one in found["collectives"]} == {(2, "gloo")}
    for one in found["collectives"]:
        share = 0.5 if one["operation"] in {"all_gather", "all_to_all"} else 1
        assert one["algorithm_gb_s"] == pytest.approx(one["bytes"] / one["seconds"] / 1e9)
        assert one["bus_gb_s"] == pytest.approx(share * one["algorithm_gb_s"])
    assert found["allreduce"] == [
        {"bytes": one["bytes"], "gb_s": one["bus_gb_s"]}
        for one in found["collectives"]
        if one["operation"] == "all_reduce"
    ]
    assert found["read_gb_s"] is None
    assert (tmp_path / "pair.yaml").exists()


def test_one_rank_has_nobody_to_talk_to() -> None:
    run = torchrun(1)
    assert "error: one rank has nobody to talk to" in run.stderr
    assert run.stdout == ""

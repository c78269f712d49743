"""What the two main commands load: few modules, none of the heavy ones, once the catalog is warm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, sys
from llmcalc.cli.main import main
code = main({arguments!r})
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(cache: Path, *arguments: str) -> tuple[int, set[str]]:
    """Exit code, and the modules that a fresh interpreter has loaded after a command."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LLMCALC_CACHE": str(cache)},
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one run over the whole catalog has filled."""
    cache = tmp_path_factory.mktemp("cache")
    assert loaded(cache, "fit", "--gpu", "a100-80", "--batch", "16")[0] == 0
    return cache


@pytest.mark.parametrize(
    "arguments", [("params", "llama2-7b"), ("fit", "--gpu", "a100-80", "--batch", "16")]
)
def test_a_warm_main_command_loads_nothing_heavy(arguments: tuple[str, ...], warm: Path) -> None:
    code, modules = loaded(warm, *arguments)
    assert code == 0
    assert "llmcalc.blueprint.lower" in modules
    heavy = ("pydantic", "yaml", "numpy", "torch", "rich", "platformdirs")
    assert [name for name in heavy if name in modules] == []


def test_params_loads_no_gpu_and_no_other_command(warm: Path) -> None:
    _, modules = loaded(warm, "params", "llama2-7b")
    others = ("llmcalc.spec.gpu", "llmcalc.api.fit", "llmcalc.cli.fit", "llmcalc.planner")
    assert [name for name in others if name in modules] == []


def test_a_cold_cache_validates_and_answers_the_same(tmp_path: Path) -> None:
    code, modules = loaded(tmp_path, "params", "llama2-7b")
    assert code == 0
    assert {"pydantic", "yaml"} <= modules


def test_a_read_only_cache_only_costs_time() -> None:
    code, modules = loaded(Path("/dev/null/nowhere"), "params", "llama2-7b")
    assert code == 0
    assert "pydantic" in modules

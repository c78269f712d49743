"""What is not needed is not imported; modules are counted, not milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"pydantic", "yaml", "numpy", "torch", "rich", "transformers", "huggingface_hub"}


def _loaded(code: str) -> set[str]:
    """Names of the modules that a fresh Python holds after the code."""
    show = "import sys, json; sys.stdout = sys.__stdout__; print(json.dumps(list(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import llmcalc.cli.main",
        "from llmcalc.cli.main import main; main(['--version'])",
        "from llmcalc.cli.main import main; main(['--help'])",
        "from llmcalc.cli.main import main; main(['schema'])",
    ],
)
def test_a_light_line_loads_nothing_heavy(code: str) -> None:
    assert not HEAVY & _loaded(code)


@pytest.mark.parametrize(
    "line",
    [
        ["params", "llama2-7b"],
        ["fit", "--gpu", "a100-80", "--batch", "16"],
        ["memory", "llama3-8b", "--gpu", "h100"],
        ["models", "zz-tiny"],
        ["gpus", "zz"],
        ["validate"],
    ],
)
def test_a_warm_catalog_loads_neither_yaml_nor_pydantic(line: list[str]) -> None:
    code = f"from llmcalc.cli.main import main; assert main({line!r}) == 0"
    _loaded(code)
    assert not HEAVY & _loaded(code)


def test_only_the_command_that_is_called_is_imported() -> None:
    loaded = _loaded("from llmcalc.cli.main import main; main(['schema'])")
    commands = {name for name in loaded if name.startswith("llmcalc.cli.")}
    assert "llmcalc.cli.schema" in commands
    assert not commands & {"llmcalc.cli.models", "llmcalc.cli.gpus", "llmcalc.cli.show"}


def test_params_knows_nothing_of_gpus_and_plans() -> None:
    code = "from llmcalc.cli.main import main; main(['params', 'llama2-7b'])"
    _loaded(code)
    loaded = _loaded(code)
    assert "llmcalc.blueprint.lower" in loaded
    assert not loaded & {"llmcalc.spec.gpu", "llmcalc.planner", "llmcalc.engines.memory"}


def test_fit_knows_nothing_of_training_speed_and_start_lines() -> None:
    code = "from llmcalc.cli.main import main; main(['fit', '--gpu', 'a100-80'])"
    _loaded(code)
    loaded = _loaded(code)
    assert "llmcalc.planner.fit" in loaded
    assert not {name for name in loaded if name.startswith("llmcalc.engines.train")}
    assert not loaded & {"llmcalc.spec.framework", "llmcalc.spec.recipe", "llmcalc.cli.training"}
    assert not loaded & {"llmcalc.spec.efficiency", "llmcalc.spec.utilisation", "llmcalc.api.emit"}


def test_a_cache_that_cannot_be_written_only_costs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCALC_CACHE", "/dev/null/nowhere")
    code = "from llmcalc.cli.main import main; assert main(['params', 'llama2-7b']) == 0"
    assert {"pydantic", "yaml"} <= _loaded(code)

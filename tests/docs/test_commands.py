"""Command lines of README, docs/ and --help run, and end with 0."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmcalc.cli.group import NAMES
from llmcalc.cli.main import main

ROOT = Path(__file__).parents[2]
WRITTEN = {"reference.md", "catalog.md"}
"""Pages that show the help or the catalog."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LEFT_OUT = (
    (r"bench\b", "measures this machine for minutes"),
    (r".*--online", "asks the network"),
    (r"(check|validate)( --(rows|json|markdown))*$", "all cards or all rows: tests of their own"),
    (r".*\.(gguf|safetensors)\b", "files that tests/api/test_import.py makes"),
    (r"(rlhf MODEL|import SOURCE|validate --data FILE)", "says what it takes, not how"),
)
"""What is not run, and why."""
STANDS_FOR = {"MODEL": "llama2-7b", "GPU": "h100"}
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(llmcalc [^`\n]+)`")


def _lines(page: str) -> Iterator[str]:
    """Command lines of fenced blocks, without remarks, and those between backticks."""
    for block in FENCE.findall(page):
        for line in block.splitlines():
            for part in line.split(" && "):
                if part.startswith("llmcalc "):
                    yield re.split(r"  +#", part)[0].strip()
    yield from SPAN.findall(FENCE.sub("", page))


def _written() -> list[str]:
    """Every command line of the pages that people write, once."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES if page.name not in WRITTEN]
    return sorted({line for text in texts for line in _lines(text)})


def _runs(line: str) -> bool:
    words = line.removeprefix("llmcalc ")
    return words not in NAMES and not any(re.match(pattern, words) for pattern, _ in LEFT_OUT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of; logs are a shipped file of measurements."""
    card = ROOT / "model_cards" / "llama2-7b.yaml"
    config = ROOT / "tests" / "data" / "models" / "configs" / "llama2-7b.json"
    logs = ROOT / "llmcalc" / "measurements" / "vllm_cpu.tsv"
    copies = {
        "my-model.yaml": card, "my_cards/mine.yaml": card, "model_cards/my-model.yaml": card,
        "path/to/config.json": config, "path/to/folder/config.json": config,
        "my_logs.tsv": logs, "more.csv": logs,
    }  # fmt: skip
    for name, source in copies.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLMCALC_CACHE", str(tmp_path / "cache"))
    for variable in ("LLMCALC_CARDS", "LLMCALC_GPUS"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def _run(line: str, folder: Path) -> int:
    told, _, target = line.partition(" > ")
    words = [STANDS_FOR.get(word, word) for word in shlex.split(told)[1:]]
    if "-o" in words:
        (folder / words[words.index("-o") + 1]).unlink(missing_ok=True)
    assert not target or "/" not in target
    return main(words)


@pytest.mark.parametrize("line", [line for line in _written() if _runs(line)])
def test_a_line_of_the_pages_runs(line: str, folder: Path) -> None:
    assert _run(line, folder) == 0


def test_every_reason_to_leave_a_line_out_is_needed() -> None:
    lines = [line.removeprefix("llmcalc ") for line in [*_written(), *_examples()]]
    for pattern, reason in LEFT_OUT:
        assert any(re.match(pattern, line) for line in lines), reason


def test_what_a_page_names_by_one_word_is_a_command() -> None:
    named = {words[1] for line in _written() if len(words := line.split()) == 2}
    assert named <= set(NAMES) | {"--help"}


def _examples() -> list[str]:
    """Examples of --help, which are written above the function of each command."""
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "llmcalc" / "cli").glob("*.py")]
    return sorted(
        {line for text in texts for line in re.findall(r'^ +"(llmcalc .+)",$', text, re.MULTILINE)}
    )


@pytest.mark.parametrize("line", [line for line in _examples() if _runs(line)])
def test_an_example_of_the_help_runs(line: str, folder: Path) -> None:
    assert _run(line, folder) == 0


def _shown() -> list[str]:
    """Lines that train on a named GPU, in README, the pages of training and --help."""
    pages = [page for page in PAGES if page.name in {"README.md", "training.md", "rlhf.md"}]
    lines = {line for page in pages for line in _lines(page.read_text(encoding="utf-8"))}
    return sorted(
        line for line in lines | set(_examples())
        if re.match(r"llmcalc (train|rlhf) .*--gpu ", line)
    )  # fmt: skip


def _answer(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert _run(f"{line} --json", folder) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["results"][0]
    return found


@pytest.mark.parametrize("line", _shown())
def test_what_an_example_trains_fits(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _answer(line, folder, capsys)["verdict"] in {"fits", "tight"}


def test_the_page_shows_what_it_says_of_copies_and_of_deepseek(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds and GiB of `Time and cost` are those of the lines above them."""
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    lines = list(_lines(page.split("## Time and cost")[1].split("\n- **Collectives**")[0]))
    flat, copies, deepseek = (_answer(line, folder, capsys) for line in lines)
    whole = _answer(lines[2].replace(" --recompute full", ""), folder, capsys)
    (told,) = re.findall(
        r"ranks: ([\d.]+) s a step. .*: ([\d.]+) s, in (\d+) GiB instead of (\d+)"
        r".*?80 GB so, in (\d+) GiB.*?we say (\d+) GiB", page, re.DOTALL,
    )  # fmt: skip
    assert copies["step_seconds"] < flat["step_seconds"]
    assert [float(one) for one in told] == [
        round(flat["step_seconds"], 1), round(copies["step_seconds"], 1),
        *(round(one["per_gpu"]["peak"] / 2**30) for one in (copies, flat, deepseek, whole)),
    ]  # fmt: skip

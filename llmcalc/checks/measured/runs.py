"""What a benchmark timed, by the names that benchmarks give their tests."""

from __future__ import annotations

import re

from llmcalc.checks.measured.case import Phase, Run
from llmcalc.checks.measured.cells import number, text, whole
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable

PHASES: dict[str, Phase] = {
    "decode_tok_s": "decode",
    "prefill_tok_s": "prefill",
    "total_output_tok_s_max_load": "load",
    "mlperf_tok_s": "load",
}
"""What a metric times."""

CHAT_PROMPT, CHAT_OUTPUT = 16, 512
"""Tokens of a question and its answer where nothing tells: one sentence is asked, and models answer
with some hundreds (`ollama run --verbose`). Of a 3B model 256 tokens of cache are 1 % of the bytes,
so that a wrong guess by half of them changes a rate by half a percent."""

_BENCH = re.compile(r"(pp|tg)\s*(\d+)(?:\s*@\s*d\s*(\d+))?$", re.IGNORECASE)
"""llama-bench: `pp512`, `tg128`, and after a depth `tg32 @ d32768`."""
_WRITTEN = re.compile(r"(\d+) tokens$")
_BOTH = re.compile(r"(\d+)\s*/\s*(\d+)$")
_AVERAGE = re.compile(r"eval rate|avg generation|average|chat", re.IGNORECASE)
_BATCH = re.compile(r"^(?:max|as many)")
_BACKENDS = ("cuda", "metal", "vulkan", "rocm", "hip", "sycl", "cpu", "cann", "opencl")


def run(config: Cells) -> Run:
    """What a row timed. Raises Unusable where it does not tell."""
    phase = PHASES.get(config.get("metric", ""))
    if phase is None:
        raise Unusable(f"metric {config.get('metric', '')!r} is not one of ours")
    prompt, output, depth = _lengths(config, phase)
    return Run(
        phase=phase,
        batch=_batch(config),
        prompt=prompt,
        output=output,
        depth=depth,
        backend=backend(config),
    )


def backend(config: Cells) -> str:
    """The kernels that a column `backend` names; empty where it is none that we know."""
    written = config.get("backend", "").lower()
    found = next((name for name in _BACKENDS if name in written), "")
    return "rocm" if found == "hip" else found


def flash(config: Cells) -> bool | None:
    """Whether the column `backend` says that flash attention is on: `fa=True`."""
    match = re.search(
        r"\bfa\s*=?\s*(true|false|0|1|on|off)\b", config.get("backend", ""), re.IGNORECASE
    )
    return None if match is None else match[1].lower() in {"true", "1", "on"}


def _lengths(config: Cells, phase: Phase) -> tuple[int, int, int]:
    """Tokens of prompt, output and depth."""
    test = text(config, "test") or ""
    prompt, output = whole(config, "isl"), whole(config, "osl")
    if match := _BENCH.match(test):
        return _bench(match, phase)
    if prompt or output:
        return prompt or 0, output or 0, 0
    if match := _BOTH.match(test):
        return int(match[1]), int(match[2]), 0
    if match := _WRITTEN.match(test):
        written = int(match[1])
        seen = number(config, "avg_ctx") or CHAT_PROMPT + written / 2
        return max(0, round(seen - written / 2)), written, 0
    if phase == "decode" and _AVERAGE.search(test):
        return CHAT_PROMPT, CHAT_OUTPUT, 0
    if phase == "load":
        raise Unusable("the lengths of prompts and outputs are not stated")
    raise Unusable(f"test {test!r} does not tell how many tokens were timed" if test else
                   "the test is not named")  # fmt: skip


def _bench(match: re.Match[str], phase: Phase) -> tuple[int, int, int]:
    timed, tokens, depth = match[1].lower(), int(match[2]), int(match[3] or 0)
    if tokens == 0:
        raise Unusable(f"test {match[0]!r} times no tokens")
    if (timed == "pp") != (phase == "prefill"):
        raise Unusable(f"test {match[0]!r} does not time what the metric says")
    return (tokens, 0, depth) if timed == "pp" else (0, tokens, depth)


def _batch(config: Cells) -> int | None:
    """Sequences at once; one where nothing is said, None for `max (inflight)`."""
    written = text(config, "batch")
    if written is None:
        return 1
    return None if _BATCH.match(written.lower()) else whole(config, "batch")

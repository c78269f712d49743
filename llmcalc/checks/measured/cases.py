"""From the configured half of a row to a case, one function a kind of file."""

from __future__ import annotations

from collections.abc import Callable

from llmcalc.checks.measured import cases_of_training_time as times
from llmcalc.checks.measured import engines
from llmcalc.checks.measured import training as runs
from llmcalc.checks.measured.asked import Missing, cache, device, ranks, split, weights
from llmcalc.checks.measured.case import Case
from llmcalc.checks.measured.cases_of_speed import group_of, speed
from llmcalc.checks.measured.cases_of_training_time import HoursCase, TrainingRow
from llmcalc.checks.measured.cases_of_vllm import runtime_of, vllm, vllm_cpu, vllm_live
from llmcalc.checks.measured.cells import number, text, whole
from llmcalc.checks.measured.llamacpp import llamacpp
from llmcalc.checks.measured.models import model
from llmcalc.checks.measured.reading import Cells
from llmcalc.checks.measured.unusable import Unusable
from llmcalc.spec.settings import Settings

AnyCase = Case | TrainingRow | HoursCase
"""What is predicted: a start or its speed, a training step, a whole training run."""


def case(kind: str, config: Cells) -> AnyCase:
    """The case that a row configured. Raises Unusable where it says too little."""
    return _MAKERS[kind](config)


def group(kind: str, config: Cells, notes: str = "") -> str:
    """Engine and version family that a row is counted under; notes may tell a host of its own."""
    try:
        if kind == "decode":
            return group_of(config, notes)
        return _GROUPS[kind](config)
    except Unusable:
        return (text(config, "engine") or kind).split()[0].lower()


def _sglang(config: Cells) -> Case:
    missing: Missing = {}
    keys, values = cache(config, "kv_dtype", missing)
    gpu, memory = device(config, missing)
    tp = whole(config, "tp") or 1
    if "DP" in (text(config, "ep_dp") or "").upper():
        missing["cache"] = "attention over data-parallel ranks is not predicted"
    return Case(
        card=model(config),
        runtime="sglang",
        weights=weights(config, "weight_quant", missing),
        keys=keys,
        values=values,
        gpu=gpu,
        memory=memory,
        tp=tp,
        ep=ranks(text(config, "ep_dp"), tp),
        ranks_stated="tp" in config,
        settings=Settings(
            mem_fraction_static=number(config, "mem_fraction_static"),
            max_num_seqs=whole(config, "max_running_requests"),
        ),
        missing=missing,
    )


def _oom(config: Cells) -> Case:
    missing: Missing = {}
    runtime, _ = engines.engine(text(config, "engine"), text(config, "date"))
    card = model(config)
    gpu, memory = device(config, missing)
    tp, pp = split(config)
    if runtime.startswith(("llama.cpp", "transformers")):
        missing["room"] = f"{runtime} keeps no room of its own: context and batch are not stated"
    return Case(
        card=card,
        runtime=runtime,
        weights=weights(config, "quant", missing),
        gpu=gpu,
        memory=memory,
        tp=tp,
        pp=pp,
        settings=Settings(
            gpu_memory_utilization=number(config, "gmu"),
            max_model_len=whole(config, "max_model_len"),
        ),
        missing=missing,
    )


def _later(what: str) -> Callable[[Cells], Case]:
    """For rows that are recognised, and that no engine of ours predicts."""

    def refuse(_: Cells) -> Case:
        raise Unusable(what)

    return refuse


_MAKERS: dict[str, Callable[[Cells], AnyCase]] = {
    "vllm": vllm,
    "sglang": _sglang,
    "llamacpp": llamacpp,
    "llamacpp_live": _later("tests/engines compare every pool and buffer of these rows"),
    "oom": _oom,
    "vllm_cpu": vllm_cpu,
    "vllm_live": vllm_live,
    "decode": speed,
    "gguf_types": _later("the tests compare the types of all tensors; there is no size to score"),
    "training": times.training_row,
    "gpu_hours": times.hours,
}


def _llamacpp(config: Cells) -> str:
    """The engine; what the CPU build answers is counted apart from logs of GPUs."""
    _, group = engines.engine(text(config, "engine") or "llama.cpp", None)
    return f"{group} on CPU" if config.get("devices", "").upper().startswith("CPU") else group


_GROUPS: dict[str, Callable[[Cells], str]] = {
    "vllm": runtime_of,
    "sglang": lambda _: "sglang",
    "llamacpp": _llamacpp,
    "llamacpp_live": lambda _: "llama.cpp, dry run on CPU",
    "oom": lambda config: engines.engine(text(config, "engine"), text(config, "date"))[1],
    "vllm_cpu": lambda config: f"{runtime_of(config)}, given cache",
    "vllm_live": lambda config: f"{runtime_of(config)}, given cache",
    "gguf_types": lambda _: "llama.cpp",
    "training": runs.group,
    "gpu_hours": times.group,
}

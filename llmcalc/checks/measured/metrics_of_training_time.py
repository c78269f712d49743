"""What is measured of the time of training: a step's speed, a run's GPU-hours."""

from __future__ import annotations

from llmcalc.checks.measured.metric import Metric, cell, scaled

TIMES = (
    Metric(
        name="tok_s_gpu",
        measured=cell("tok_s_gpu"),
        predicted=scaled("trained_tokens_per_second", 1),
        needs=("time",),
        how="tokens a second of one GPU: rates reached, pipeline, exchanges, optimizer",
    ),
    Metric(
        name="mfu_pct",
        measured=cell("mfu_pct"),
        predicted=scaled("mfu_pct", 1),
        needs=("time",),
        how="the same times 6N and attention whole, over the peak, as publishers count it",
    ),
)
HOURS = (
    Metric(
        name="gpu_hours",
        measured=cell("gpu_hours"),
        predicted=scaled("gpu_hours", 1),
        needs=("time",),
        how="model FLOPs at the published MFU of the GPU, over the steady share of whole runs",
    ),
)

#!/usr/bin/env bash
# One command for a bare machine: what its device reports, reaches and decodes, predicted beside measured.
#
#   bash benchmarks/gpu_check.sh [cuda|cpu] [FOLDER]
#
# Needs torch, and what llmcalc depends on (typer, pydantic, pyyaml, platformdirs): as wheels in FOLDER of WHEELS
# where the machine has no network (`WHEELS=wheels bash benchmarks/gpu_check.sh`). Under 8 minutes on a GPU. Nothing is
# changed on the machine: measurements go to FOLDER (benchmarks/results/<device>-<date> if left out).
set -euo pipefail
cd "$(dirname "$0")/.."
device=${1:-cuda}
out=${2:-benchmarks/results/$device-$(date +%Y-%m-%d)}
python=${PYTHON:-python3}
mkdir -p "$out"
export LLMCALC_MEASUREMENTS=$PWD/$out LLMCALC_CACHE=$out/.cache PYTHONPATH=$PWD
trap 'rm -rf "$out/.cache"' EXIT

if [ -n "${WHEELS:-}" ]; then
  "$python" -m pip install -q --no-index --find-links "$WHEELS" typer pydantic pyyaml platformdirs
fi
step() { printf '\n== %s\n' "$1" >&2; }

if [ "$device" = cuda ]; then
  models=(llama3.2-1b llama3-8b qwen3-0.6b) batches=(1 8 32) quick=()
else
  models=(qwen3-0.6b) batches=(1 4) quick=(--quick)
fi

step "what the driver and torch report"
if [ "$device" = cuda ]; then nvidia-smi >"$out/nvidia-smi.txt"; fi
"$python" - "$device" >"$out/device.json" <<'P'
import json, sys, torch
told = {"torch": torch.__version__, "threads": torch.get_num_threads()}
if sys.argv[1] == "cuda":
    one = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info(0)
    told |= {"name": one.name, "total_bytes": total, "free_bytes": free, "properties_total": one.total_memory,
             "multi_processors": one.multi_processor_count, "cuda": torch.version.cuda, "l2_bytes": one.L2_cache_size}
print(json.dumps(told, indent=1))
P

step "bandwidth, products, attention, launches, a decode step of each model"
for model in "${models[@]}"; do
  "$python" -m llmcalc bench --device "$device" --model "$model" --save "$model-here" --force --json ${quick[@]+"${quick[@]}"} |
    sed 's#"saved": ".*/#"saved": "#' >"$out/bench-$model.json"  # whose folder it was is nobody's business
done

step "predicted from the measurement, beside what was measured"
for model in "${models[@]}"; do
  for batch in "${batches[@]}"; do
    "$python" -m llmcalc speed "$model" --gpu "$model-here" --batch "$batch" --prompt 512 --output 128 --runtime transformers --json >"$out/speed-$model-$batch.json"
  done
done

step "activations and optimizer states against torch's allocator"
"$python" benchmarks/allocator.py "$device" >"$out/allocator.json"
printf 'written to %s\n' "$out"

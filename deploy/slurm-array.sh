#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One evaluation as a Slurm array: task i of n measures shard i/n into $OUT/run-i (docs/scale.md).
#
#   MODEL=llama-3.1-8b-mrrope ENDPOINTS=http://node1:8000,http://node2:8000 OUT=/scratch/ruler \
#     sbatch --array=0-15 deploy/slurm-array.sh
#   mrrope merge /scratch/ruler/run-* -o /scratch/ruler/run
#
# The same command continues what was interrupted. To repeat some shards only, say of how many:
#
#   SHARDS=16 … sbatch --array=3,7 deploy/slurm-array.sh
#
#SBATCH --job-name=mrrope
#SBATCH --array=0-15
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --output=mrrope-%A_%a.log
set -euo pipefail

: "${MODEL:?the name under which the servers serve the model}"
: "${OUT:?a folder that all nodes see}"
# Servers that run already, separated by commas; or SERVE, a command that starts one on this node for this task alone:
#   SERVE="vllm serve /models/llama-3.1-8b-mrrope --served-model-name llama-3.1-8b-mrrope --port 8000"
ENDPOINTS=${ENDPOINTS:-http://127.0.0.1:8000}
SERVE=${SERVE:-}
SERVE_SECONDS=${SERVE_SECONDS:-1800} # to load the weights
# The program, or how to reach it: "apptainer exec --bind /scratch mrrope.sif mrrope"
MRROPE=${MRROPE:-mrrope}
TASKS=${TASKS:-all}
LENGTHS=${LENGTHS:-4k,8k,16k,32k,64k,128k}
SAMPLES=${SAMPLES:-500}
MORE=${MORE:-} # other flags of mrrope eval ruler

shard=${SLURM_ARRAY_TASK_ID:?start this with sbatch --array=0-N}
if [[ -z ${SHARDS:-} ]]; then
  SHARDS=${SLURM_ARRAY_TASK_COUNT:?}
  if ((SLURM_ARRAY_TASK_MIN != 0 || SLURM_ARRAY_TASK_MAX != SHARDS - 1)); then
    echo "an array that is not 0-N is a part of a larger one: set SHARDS to the size of that" >&2
    exit 2
  fi
fi

if [[ -n $SERVE ]]; then
  read -ra serve <<<"$SERVE"
  "${serve[@]}" &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
  until curl --silent --fail --output /dev/null "${ENDPOINTS%%,*}/health"; do
    if ! kill -0 "$server" 2>/dev/null || ((SECONDS > SERVE_SECONDS)); then
      echo "the server did not start: $SERVE" >&2
      exit 1
    fi
    sleep 5
  done
fi

mkdir -p "$OUT"
read -ra mrrope <<<"$MRROPE"
read -ra more <<<"$MORE"
"${mrrope[@]}" eval ruler --endpoint "$ENDPOINTS" --model "$MODEL" --tasks "$TASKS" --lengths "$LENGTHS" \
  --samples "$SAMPLES" --shard "$shard/$SHARDS" -o "$OUT/run-$shard" "${more[@]}"

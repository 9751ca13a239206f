#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One evaluation as a Slurm array: task i of n measures shard i/n into $OUT/run-i (docs/scale.md).
#
#   MODEL=llama-3-8b-mrrope ENDPOINTS=http://node1:8000,http://node2:8000 OUT=/scratch/ruler \
#     QUESTIONS=/scratch/squad/dev-v2.0.json sbatch --array=0-15 deploy/slurm-array.sh
#   mrrope merge /scratch/ruler/run-* -o /scratch/ruler/run
#
# Or with a server of its own for every task, which then needs the GPUs, and memory for the weights while they load:
#
#   MODEL=llama-3-8b-mrrope OUT=/scratch/ruler QUESTIONS=/scratch/squad/dev-v2.0.json \
#     SERVE="vllm serve /models/llama-3-8b-mrrope --served-model-name llama-3-8b-mrrope --port {port}" \
#     sbatch --array=0-15 --gres=gpu:1 --mem=64G deploy/slurm-array.sh
#
# Every plan is served under a name of its own, and MODEL says which: one array after the other into the same OUT, or each
# with its OUT; merge takes the folders of all.
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
# ENDPOINTS: servers that run already, separated by commas; or SERVE: a command that starts one on this node for this task
# alone. {port} in it becomes SERVE_PORT + the task's index, because tasks may share a node. Arrays that may share one need
# a SERVE_PORT each, further apart than their sizes.
SERVE=${SERVE:-}
SERVE_PORT=${SERVE_PORT:-8000}
SERVE_SECONDS=${SERVE_SECONDS:-1800} # to load the weights
# The program, or how to reach it: "apptainer exec --bind /scratch mrrope.sif mrrope"
MRROPE=${MRROPE:-mrrope}
TASKS=${TASKS:-all}
QUESTIONS=${QUESTIONS:-} # a file of SQuAD for qa_1 (qa_2 asks from HotpotQA: TASKS=qa_2)
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

give_up() {
  echo "$1" >&2
  exit 1
}

serving() { kill -0 "$server" 2>/dev/null; }

if [[ -n $SERVE ]]; then
  if [[ $SERVE != *"{port}"* ]]; then
    echo "SERVE has to give the server its port, as {port}: $SERVE" >&2
    exit 2
  fi
  port=$((SERVE_PORT + shard))
  ENDPOINTS=http://127.0.0.1:$port
  # A server may load for minutes before it finds its port taken; meanwhile another one would answer for it.
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    give_up "port $port is taken: set SERVE_PORT to another"
  fi
  read -ra serve <<<"${SERVE//"{port}"/$port}"
  "${serve[@]}" &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
  until curl --silent --fail --output /dev/null "$ENDPOINTS/health"; do
    serving || give_up "the server did not start: ${serve[*]}"
    ((SECONDS <= SERVE_SECONDS)) || give_up "the server did not start in $SERVE_SECONDS s: ${serve[*]}"
    sleep 1
  done
  serving || give_up "the server did not start, and another one answers at its port: ${serve[*]}"
fi
: "${ENDPOINTS:?servers that run already, or SERVE}"

mkdir -p "$OUT"
read -ra mrrope <<<"$MRROPE"
read -ra more <<<"$MORE"
[[ -z $QUESTIONS ]] || more+=(--questions "$QUESTIONS")
"${mrrope[@]}" eval ruler --endpoint "$ENDPOINTS" --model "$MODEL" --tasks "$TASKS" --lengths "$LENGTHS" \
  --samples "$SAMPLES" --shard "$shard/$SHARDS" -o "$OUT/run-$shard" "${more[@]}"

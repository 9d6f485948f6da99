#!/bin/sh
# A scenario on many machines: an array job, each of whose tasks runs one shard. docs/guide/lab.md
#
#   sbatch configs/cluster/slurm-array.sh
#   SCENARIO=s0-fig5-fairness sbatch --array=0-31 configs/cluster/slurm-array.sh
#
# OUT is on a file system that all nodes have; each task has a folder of its own. A task that is requeued goes on where it was.
#SBATCH --job-name=ccctl-lab
#SBATCH --array=0-7
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
#SBATCH --time=12:00:00
#SBATCH --requeue
set -eu

: "${SCENARIO:=s4-pairs}" "${OUT:=ccctl-lab}"

exec ccctl-lab run "$SCENARIO" \
	--shard "$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))/$SLURM_ARRAY_TASK_COUNT" \
	--jobs "${SLURM_CPUS_PER_TASK:-1}" \
	--out "$OUT/shard-$SLURM_ARRAY_TASK_ID"

# When all tasks have ended:
#
#   ccctl-lab merge ccctl-lab/s4-pairs ccctl-lab/shard-*/s4-pairs

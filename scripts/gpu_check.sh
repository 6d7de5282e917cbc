#!/usr/bin/env bash
# Checks Croton on a machine with an NVIDIA GPU, in one command and under nine minutes: tests, sanitizers, benchmark.
# It needs Python 3.9 and the CUDA toolkit, no network and nothing else: see docs/gpu_check.md. Options: --help
set -euo pipefail
python=$(command -v python3) || { echo "error: scripts/gpu_check.sh needs python3" >&2; exit 2; }
PYTHONUNBUFFERED=1 exec "$python" "$(dirname "${BASH_SOURCE[0]}")/gpu_check" "$@"

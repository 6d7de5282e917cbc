#!/usr/bin/env bash
# Checks Croton on a machine with an NVIDIA GPU: scripts/gpu_check.sh smoke|suite|bench|all. It needs Python 3.9, the driver and
# the pack that scripts/pack_gpu_check.sh makes elsewhere, no network and no compiler: see docs/gpu_check.md. Options: --help
set -euo pipefail
python=$(command -v python3) || { echo "error: scripts/gpu_check.sh needs python3" >&2; exit 2; }
PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 exec "$python" "$(dirname "${BASH_SOURCE[0]}")/gpu_check" "$@"

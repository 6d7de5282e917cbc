#!/usr/bin/env bash
# Checks Croton on a machine with an NVIDIA GPU: scripts/gpu_check.sh smoke|suite|bench|all. It needs Python 3.9, the driver and
# the pack that scripts/pack_gpu_check.sh makes elsewhere, no network and no compiler: see docs/internals/gpu_check.md. Options:
# --help
set -euo pipefail
python=$(command -v python3) && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
  { echo "error: scripts/gpu_check.sh needs Python 3.9 or newer as python3${python:+, and $python is older}" >&2; exit 2; }
PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 exec "$python" "$(dirname "${BASH_SOURCE[0]}")/gpu_check" "$@"

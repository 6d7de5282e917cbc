#!/usr/bin/env bash
# Makes the wheel of a build folder (scripts/wheel.sh), installs it into new environments, with the newest NumPy and
# with 1.26, and checks that it is self-contained: its libraries need none that a plain system lacks, importing is
# quick, a training runs, and so do the tests of tests/python.
# Usage: check.sh BUILD_FOLDER PYTHON    (NUMPY="2.0 1.26.4": the versions of NumPy)
set -euo pipefail

usage="usage: check.sh BUILD_FOLDER PYTHON"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${1:?$usage}" && pwd)
python=${2:?$usage}
work=$(mktemp -d -p "$build")
trap 'rm -rf "$work"' EXIT
# The environment's module path and flags must have no effect.
unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH CROTON_FLAGS VIRTUAL_ENV
export CROTON_TEST_FAKE_CUDA=$build/fake_cuda
export PIP_DISABLE_PIP_VERSION_CHECK=1 XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config PYTHONDONTWRITEBYTECODE=1

BUILD=$build DIST=$work/dist "$root/scripts/wheel.sh" >"$work/wheel.log" 2>&1 || {
  tail -n 60 "$work/wheel.log"
  echo "the wheel could not be made; does pip reach the package index?" >&2
  exit 1
}
tail -n 1 "$work/wheel.log"
mkdir "$work/empty"
cd "$work/empty"

# use_with NUMPY: installs the wheel and this version of NumPy, and tests it.
use_with() {
  local venv=$work/venv_$1
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q "$work"/dist/croton-*.whl "numpy~=$1"
  "$venv/bin/pip" list 2>/dev/null | grep -iE '^(croton|numpy) ' | tr -s ' ' | paste -sd,
  "$venv/bin/python" "$here/libraries.py"
  "$venv/bin/python" "$here/import_time.py"
  "$venv/bin/python" "$here/use.py"
  # The package was used without these.
  "$venv/bin/pip" install -q 'pytest>=8' 'mypy>=1.11'
  "$venv/bin/python" -m pytest -q -p no:cacheprovider -rs "$root/tests/python"
}

status=0 runs=()
for numpy in ${NUMPY:-2.0 1.26.4}; do
  use_with "$numpy" >"$work/$numpy.log" 2>&1 &
  runs+=("$!:$numpy")
done
for run in "${runs[@]}"; do
  wait "${run%%:*}" || status=$?
  cat "$work/${run##*:}.log"
done
exit "$status"

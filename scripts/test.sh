#!/usr/bin/env bash
# Sets up, builds and passes the tests: those with the label `full`, which continuous integration passes; with --quick those with the
# label `quick`, for use between edits; with --all the slow ones too. It can be run again at any time; existing parts are kept.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Minutes on 2 cores. The last line of this script prints the minutes it took: if that is another number, write it here.
build_minutes=9
case "${1:-}" in
  "") selection=(-L '^full$') test_minutes=14 ;;
  --quick) selection=(-L '^quick$') test_minutes=5 ;;
  --all) selection=(-L '^(full|slow)$') test_minutes=180 ;;
  *) echo "usage: scripts/test.sh [--quick | --all]   (sets up, builds and passes the tests)" && exit 2 ;;
esac

# Results are compared with NumPy and SciPy. oneDNN (39 MB) runs convolutions: Debian 12 and Ubuntu 24.04 have it under different names,
# and PyPI's newer builds have SYCL, which Croton does not support. NVRTC (90 MB) compiles every generated kernel, with or without a GPU;
# nvdisasm (5 MB) disassembles the machine code. The kernel table (tests/kernel_table) holds for fixed versions of both, so that NVRTC is
# installed even if the system has one.
make_venv() {
  local venv=$root/build/venv
  say "Python packages in build/venv"
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q -r "$root/scripts/requirements-test.txt" ||
    fail "Python packages could not be installed. The line was:" \
      "$venv/bin/pip install -r $root/scripts/requirements-test.txt"
  if "$venv/bin/pip" install -q -r "$root/scripts/requirements-nvrtc.txt"; then
    note "NVRTC: in build/venv"
  else
    note "NVRTC could not be installed: without another one, tests that compile for NVIDIA GPUs will be skipped."
  fi
}

check_system "${build_packages[@]}" "${test_packages[@]}"
absent=$(missing_packages "${build_packages[@]}" "${test_packages[@]}")
announce "Tests: packages, Python packages (190 MB), build, tests" 1500 $((build_minutes + test_minutes)) \
  "$all_download_mb" "$all_disk_mb" "$absent"
note "The tests take about $test_minutes of these, each time."
# shellcheck disable=SC2086
install_packages $absent
make_venv
build_release -DCROTON_BUILD_TESTS=ON -DCROTON_WITH_PYTHON=ON -DPython_EXECUTABLE="$root/build/venv/bin/python" --

say "Running the tests"
# Activates the environment, so that tests find its Python and its libraries.
export VIRTUAL_ENV=$root/build/venv PATH=$root/build/venv/bin:$PATH
built=$SECONDS status=0
ctest --test-dir "$root/build/release" --output-on-failure --no-tests=error -j2 "${selection[@]}" || status=$?
say "Took $(minutes "$SECONDS") minutes: $(minutes "$built") to set up and build, $(minutes $((SECONDS - built))) to test."
exit "$status"

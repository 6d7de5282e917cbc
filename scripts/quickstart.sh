#!/usr/bin/env bash
# Sets up, builds and runs the main job: a small network that Croton compiles and trains, with the generated code shown. It can be run
# again at any time; existing parts are kept.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case "${1:-}" in
  "") ;;
  *) echo "usage: scripts/quickstart.sh   (sets up, builds and runs the demo)" && exit 2 ;;
esac

check_system "${build_packages[@]}"
absent=$(missing_packages "${build_packages[@]}")
announce "Quick start: packages, build, demo" 400 6 "$build_download_mb" "$build_disk_mb" "$absent"
# shellcheck disable=SC2086
install_packages $absent

options=()
# Tests need more packages; a folder that test.sh made keeps them.
[ -f "$root/build/release/CMakeCache.txt" ] || options+=(-DCROTON_BUILD_TESTS=OFF)
build_release "${options[@]}" -- croton croton_llvm croton_tool

say "Running build/release/bin/croton demo mlp"
"$root/build/release/bin/croton" demo mlp
say "Took $(minutes "$SECONDS") minutes."

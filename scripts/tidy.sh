#!/usr/bin/env bash
# Runs clang-format and clang-tidy over the sources: it changes nothing and lists errors. Needs clang-format-19, clang-tidy-19 and a
# configured build folder (build/release). `scripts/tidy.sh src/plan` checks one folder only.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[ -f "$build/compile_commands.json" ] || { echo "configure first: cmake --preset release"; exit 1; }
mapfile -t sources < <(git ls-files "${@:-src}" | grep -E '\.(cpp|hpp|cuh)$')
clang-format-19 --dry-run -Werror "${sources[@]}"
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep -E '\.cpp$')
printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-19 -p "$build" --quiet
echo "clean: ${#units[@]} files"

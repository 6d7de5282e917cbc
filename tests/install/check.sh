#!/usr/bin/env bash
# Installs a build into an empty folder, moves it, and builds and runs a program against it, by CMake and by pkg-config.
# Usage: check.sh BUILD_FOLDER
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: check.sh BUILD_FOLDER}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"

if grep -rlF -e "$build" -e "$work/first" "$work/prefix" --include='*.cmake' --include='*.pc' --include='*.hpp'; then
  echo "the files above name the folder of the build" >&2
  exit 1
fi

generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build"
"$work/build/consumer"
echo "by CMake: right"

"$work/prefix/bin/croton" --version

if command -v pkg-config >/dev/null; then
  folder=$(dirname "$(find "$work/prefix" -name croton.pc)")
  read -ra flags <<<"$(PKG_CONFIG_PATH="$folder" pkg-config --cflags --libs croton)"
  libraries=$(PKG_CONFIG_PATH="$folder" pkg-config --variable=libdir croton)
  "${CXX:-c++}" -std=c++20 "$here/consumer/main.cpp" "${flags[@]}" -o "$work/by_pkg_config"
  LD_LIBRARY_PATH="$libraries" "$work/by_pkg_config"
  echo "by pkg-config: right"
fi

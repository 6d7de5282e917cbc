#!/usr/bin/env bash
# Fills gpu_check_pack/, an ignored folder that travels with the tree to a machine with a GPU and no network, for
# scripts/gpu_check.sh: programs built here, with LLVM inside, and the headers to build there if they do not run.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 0 ] || { echo "usage: scripts/pack_gpu_check.sh   (fills gpu_check_pack/)" && exit 2; }
build=$root/build/gpu_check pack=$root/gpu_check_pack most_mib=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "Building for the pack"
# Python stays out: its module fits one version only. So does libzip, which the other machine need not have.
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCROTON_LLVM_STATIC=ON -DCROTON_WITH_PYTHON=OFF \
  -DCROTON_WITH_LIBZIP=OFF -DCROTON_BUILD_TESTS=ON -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON >/dev/null
cmake --build "$build" -j "${JOBS:-$(build_jobs)}"

say "Packing programs"
mkdir -p "$work/programs/lib/gcc" "$work/programs/fake_cuda"
cp -r "$build/bin" "$work/programs/"
cp -P "$build"/lib/libcroton*.so* "$work/programs/lib/"
cp "$build"/fake_cuda/*.so* "$work/programs/fake_cuda/"
for library in libstdc++.so.6 libgcc_s.so.1; do # for systems whose own are older
  cp -L "$("${CXX:-c++}" -print-file-name=$library)" "$work/programs/lib/gcc/"
done
find "$work/programs" -type f -exec strip {} +
list=$work/programs/tests.json
ctest --test-dir "$build" --show-only=json-v1 | sed -e "s|$build|@BUILD@|g" -e "s|$root|@SOURCE@|g" >"$list"
if grep -q '"@SOURCE@/build' "$list"; then fail "the list of tests names another build folder"; fi

say "Packing headers"
include=$work/dependencies/include config=$work/dependencies/lib/cmake/fmt
mkdir -p "$include" "$config"
header_folder() { # of a header that the compiler finds
  dirname "$(echo "#include <$1>" | "${CXX:-c++}" -M -x c++ - | tr ' ' '\n' | grep "/$1$")"
}
cp -r "$(header_folder fmt/format.h)" "$include/fmt"
cp -r "$(header_folder nlohmann/json.hpp)" "$include/nlohmann"
cp -r "$(header_folder catch2/catch.hpp 2>/dev/null || header_folder catch2/catch_all.hpp)" "$include/catch2"
# fmt's own file for CMake names a compiled library, which is not needed.
cat >"$config/fmt-config.cmake" <<'CMAKE'
add_library(fmt::fmt-header-only INTERFACE IMPORTED)
target_include_directories(fmt::fmt-header-only INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../../../include)
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
CMAKE

rm -rf "$pack"
mkdir -p "$pack"
for part in programs dependencies; do
  tar -C "$work/$part" --owner=0 --group=0 -c . | xz -6 -T0 >"$pack/$part.tar.xz"
done
printf '{"digest": "%s", "commit": "%s"}\n' "$(python3 "$root/scripts/gpu_check/digest.py" "$root")" \
  "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" >"$pack/pack.json"

tracked=$(cd "$root" && git ls-files -co --exclude-standard -z | du -ck --apparent-size --files0-from=- | tail -1)
tracked=${tracked%%[[:space:]]*}
packed=$(du -s --apparent-size -k "$pack" | cut -f1)
say "gpu_check_pack: $((packed / 1024)) MiB; with the tree $(((tracked + packed) / 1024)) of at most $most_mib MiB"
[ $((tracked + packed)) -lt $((most_mib * 1024)) ] || fail "that is more than may travel"

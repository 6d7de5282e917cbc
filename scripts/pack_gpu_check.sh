#!/usr/bin/env bash
# Fills gpu_check_pack/ (ignored by git) with the programs that scripts/gpu_check.sh runs on a machine with a GPU and without a network:
# those of the ordinary build folder (BUILD, else build/release), stripped, with LLVM inside and the libraries that they need next to
# them. Nothing is compiled twice, and nothing is built on the other machine.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 0 ] || { echo "usage: scripts/pack_gpu_check.sh   (fills gpu_check_pack/)" && exit 2; }
build=${BUILD:-$root/build/release} pack=${PACK:-$root/gpu_check_pack} most_mib=25 most_with_tree_mib=45
check_system git xz-utils
# shellcheck disable=SC2046
install_packages $(missing_packages git xz-utils)
[ -f "$build/build.ninja" ] || build_release -DCROTON_BUILD_TESTS=ON --
grep -q '^CROTON_WITH_LLVM:BOOL=ON' "$build/CMakeCache.txt" || fail "$build was configured without LLVM."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "Building what the pack holds"
programs=(croton_gpu_smoke croton_gpu_bench croton_op_tests croton_nn_tests)
llvm=$build/lib/static/libcroton_llvm.so static=croton_llvm_static
if grep -q '^CROTON_LLVM_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then llvm=$build/lib/libcroton_llvm.so static=croton_llvm; fi
cmake --build "$build" -j "${JOBS:-$(build_jobs)}" --target "${programs[@]}" croton_tool "$static"

say "Packing"
mkdir -p "$work/bin" "$work/lib/gcc"
cp "${programs[@]/#/$build/bin/}" "$build/bin/croton" "$work/bin/"
cp -P "$build"/lib/libcroton.so* "$work/lib/"
cp "$llvm" "$work/lib/"
# Libraries that the other machine may lack. It uses its own C library, which must not be older than this one's; libstdc++ of the pack is
# used if its own is older.
for library in $(ldd "$work"/bin/* "$work"/lib/*.so | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u); do
  case ${library##*/} in
    libcroton* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux*) ;;
    libstdc++.so* | libgcc_s.so*) cp -L "$library" "$work/lib/gcc/" ;;
    *) cp -L "$library" "$work/lib/" ;;
  esac
done
find "$work" -type f -exec strip {} +
ctest --test-dir "$build" -L '^gpu$' --show-only=json-v1 | sed -e "s|$build|@BUILD@|g" -e "s|$root|@SOURCE@|g" >"$work/tests.json"
if grep -q '"@SOURCE@/build' "$work/tests.json"; then fail "the list of tests names another build folder"; fi

rm -rf "$pack"
mkdir -p "$pack"
tar -C "$work" --sort=name --owner=0 --group=0 -c . | xz --x86 --lzma2=preset=9e,dict=128MiB >"$pack/programs.tar.xz"
printf '{"digest": "%s", "commit": "%s", "sha256": "%s"}\n' "$(python3 "$root/scripts/gpu_check/digest.py" "$root")" \
  "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" \
  "$(sha256sum "$pack/programs.tar.xz" | cut -d' ' -f1)" >"$pack/pack.json"

tracked=$(cd "$root" && git ls-files -co --exclude-standard -z | du -ck --apparent-size --files0-from=- 2>/dev/null | tail -1) || true
tracked=${tracked%%[[:space:]]*}
packed=$(du -s --apparent-size -k "$pack" | cut -f1)
say "$pack: $((packed / 1024)) of at most $most_mib MiB; with the tree $(((tracked + packed) / 1024)) of at most $most_with_tree_mib"
[ "$packed" -lt $((most_mib * 1024)) ] || fail "the pack is larger than that"
[ $((tracked + packed)) -lt $((most_with_tree_mib * 1024)) ] || fail "tree and pack are larger than that"

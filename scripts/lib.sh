# shellcheck shell=bash disable=SC2034
# Shared code of the scripts: systems and packages, costs of steps, number of jobs. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 and Ubuntu 24.04 use the same names, but for oneDNN, with which convolutions and large products are faster. LLVM's CMake files
# look for more (libedit, zlib, zstd, curl), which are optional.
build_packages=(g++ cmake ninja-build ccache pkg-config llvm-19-dev libclang-19-dev libclang-cpp19-dev libfmt-dev
  libxxhash-dev libzip-dev nlohmann-json3-dev libopenblas0-pthread)
# shellcheck disable=SC1091
case "$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" in
  ubuntu) build_packages+=(libdnnl3) ;;
  *) build_packages+=(libdnnl2) ;;
esac
test_packages=(catch2 libmpfr-dev python3 python3-venv python3-dev)

# Measured with apt on Debian 12 without any of them: build_packages, then both lists.
build_download_mb=272 build_disk_mb=1590
all_download_mb=287 all_disk_mb=1640

say() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
fail() {
  printf '\nerror: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '    %s\n' "$line" >&2; done
  exit 1
}

# Prints the words of "$@" that are not installed packages, in one line. A tool counts as installed if its program exists.
missing_packages() {
  local package program missing=()
  for package in "$@"; do
    case $package in
      g++ | cmake | ccache | git | pkg-config | python3) program=$package ;;
      ninja-build) program=ninja ;;
      xz-utils) program=xz ;;
      *) program= ;;
    esac
    if [ -n "$program" ] && command -v "$program" >/dev/null; then continue; fi
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  echo "${missing[*]}"
}

# Stops on systems whose package names are not known.
check_system() {
  local id version name
  # shellcheck disable=SC1091
  read -r id version name < <(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-} ${PRETTY_NAME:-}")
  case "${id:-} ${version:-}" in
    "debian 12" | "ubuntu 24.04") ;;
    *)
      fail "this script knows Debian 12 and Ubuntu 24.04; this is ${name:-another system}." \
        "Install what these packages hold: $*" \
        "(LLVM and Clang of version 19, GCC of at least 12, CMake of at least 3.25), then build by hand:" \
        "cmake --preset release && cmake --build --preset release && ctest --preset release"
      ;;
  esac
  [ "$(uname -m)" = x86_64 ] || note "Only x86-64 is tested; this is $(uname -m)."
}

# The available memory in MiB: that of the system, or less in a container.
free_mib() {
  local free limit used
  free=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ]; then
    used=$(cat /sys/fs/cgroup/memory.current)
    limit=$(((limit - used) / 1048576))
    if [ "$limit" -lt "$free" ]; then free=$limit; fi
  fi
  echo "$free"
}

# Files that include Clang's headers take up to 1.5 GiB each.
build_jobs() {
  local jobs cores
  cores=$(nproc)
  jobs=$(($(free_mib) / 2048))
  if [ "$jobs" -gt "$cores" ]; then jobs=$cores; fi
  if [ "$jobs" -lt 1 ]; then jobs=1; fi
  echo "$jobs"
}

# package_cost NAMES DOWNLOAD_MB DISK_MB: prints the MB to download and the MB on disk of packages by apt's estimate, or the two given
# numbers if apt does not know (its lists may be missing).
package_cost() {
  # shellcheck disable=SC2086
  LC_ALL=C apt-get install --no-install-recommends --assume-no -o Debug::NoLocking=1 $1 2>/dev/null |
    awk -v download="$2" -v disk="$3" '
      function mb(number, unit) {
        gsub(/[^0-9.]/, "", number)
        return int(number * (unit ~ /^G/ ? 1000 : unit ~ /^k/ ? 0.001 : unit ~ /^B/ ? 0 : 1)) + 1
      }
      /^Need to get/ { n = split($0, words, /[ \/]/); for (i = 2; i <= n; ++i) if (words[i] ~ /^[GMk]?B$/) break
                       if (i <= n) download = mb(words[i - 1], words[i]) }
      /^After this operation/ { disk = mb($4, $5) }
      END { print download, disk }'
}

# announce WHAT BUILD_DISK_MB MINUTES DOWNLOAD_MB PACKAGE_DISK_MB NAMES: prints the work ahead and its costs, and stops if the disk is too
# small.
announce() {
  local what=$1 disk=$2 minutes=$3 download=$4 package_disk=$5 names=$6 free
  say "$what"
  if [ -n "$names" ]; then
    read -r download package_disk < <(package_cost "$names" "$download" "$package_disk")
    note "Packages to install: $names"
    note "Download: about $download MB. Disk for packages: about $package_disk MB."
  else
    note "Packages to install: none."
    package_disk=0
  fi
  note "Disk for the build: about $disk MB in $root/build."
  note "Memory: 2 GiB for each of $(build_jobs) jobs; free: $(($(free_mib) / 1024)) GiB."
  note "Time: about $minutes minutes on 2 cores, without the download; much less when run again."
  free=$(df --output=avail -m "$root" | tail -1)
  free=${free// /}
  [ "$free" -gt $((disk + package_disk)) ] ||
    fail "only $free MB are free on the disk of $root, $((disk + package_disk)) MB are needed."
}

# install_packages PACKAGE...: as root, or by sudo if it can be answered; otherwise prints the line and stops.
install_packages() {
  [ $# -gt 0 ] || return 0
  local line="apt-get install -y --no-install-recommends $*" as=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 1 ]; }; }; then
      as=(sudo)
    else
      fail "packages are missing, and installing them needs root. Run this as root, then this script again:" "$line"
    fi
  fi
  say "Installing packages"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update ||
    note "The lists of packages could not be brought up to date; trying with the old ones."
  # shellcheck disable=SC2086
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive $line || fail "installing failed. The line was:" "$line"
}

# minutes SECONDS: the seconds in minutes, rounded.
minutes() { echo $((($1 + 30) / 60)); }

# build_release CMAKE_OPTIONS -- TARGETS: configures build/release and builds the targets. All scripts compile with the same options, so
# that they share compiled objects; only continuous integration sets CROTON_WARNINGS_AS_ERRORS, for all of them.
build_release() {
  local options=() jobs
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  [ -z "${CROTON_WARNINGS_AS_ERRORS:-}" ] || options+=("-DCROTON_WARNINGS_AS_ERRORS=$CROTON_WARNINGS_AS_ERRORS")
  jobs=$(build_jobs)
  say "Configuring build/release"
  (cd "$root" && cmake --preset release "${options[@]}")
  say "Building with $jobs jobs"
  cmake --build "$root/build/release" -j "$jobs" ${1:+--target "$@"}
}

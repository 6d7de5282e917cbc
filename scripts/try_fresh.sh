#!/usr/bin/env bash
# Runs the README's two commands, scripts/quickstart.sh and scripts/test.sh, on a fresh Debian 12: debootstrap makes a minimal system in a
# temporary folder, a clean clone of this checkout is copied in, and nothing else of this machine is visible except /proc and /dev. Their
# output is kept in a log, without the names of this machine's mirrors. Needs root; the folder is removed at the end, also when
# interrupted.
# Usage: scripts/try_fresh.sh [--log FILE] [--summary FILE] [--keep]
# --log: build/try_fresh.log unless given. --summary: a page of the commands and their results. --keep keeps the folder.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

log=$root/build/try_fresh.log summary='' keep=
while [ $# -gt 0 ]; do
  case $1 in
    --log) log=$(realpath -m "${2:?--log needs a file}") && shift 2 ;;
    --summary) summary=$(realpath -m "${2:?--summary needs a file}") && shift 2 ;;
    --keep) keep=1 && shift ;;
    *) echo "usage: scripts/try_fresh.sh [--log FILE] [--summary FILE] [--keep]" && exit 2 ;;
  esac
done

[ "$(id -u)" -eq 0 ] || fail "this makes a Debian system in a folder, which needs root."
for needed in /usr/sbin/debootstrap /usr/bin/git /usr/bin/unshare /usr/share/keyrings/debian-archive-keyring.gpg; do
  [ -e "$needed" ] || fail "$needed is missing. The line to install it:" \
    "apt-get install -y debootstrap debian-archive-keyring git util-linux"
done

# This machine's mirror of Debian 12, from its own settings; empty on another system: debootstrap knows a mirror.
debian_mirror() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(CREATED_BY) $(CODENAME) $(REPO_URI)' 2>/dev/null |
    awk '$1 == "Packages" && $2 == "bookworm" {uri = $3} END {print uri}' || true
}

# The variables by which pip and apt reach their servers on this machine, as NAME=VALUE lines.
network_settings() {
  local name value found
  for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || echo "$name=${!name}"
  done
  for name in index-url extra-index-url trusted-host; do
    value=PIP_${name//-/_}
    value=${value^^}
    if [ -n "${!value:-}" ]; then
      echo "$value=${!value}"
    elif found=$(python3 -m pip config get "global.$name" 2>/dev/null); then
      echo "$value=$found"
    fi
  done
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/croton_fresh.XXXXXX")
child='' logger=''
clean_up() {
  trap - EXIT INT TERM HUP
  if [ -n "$child" ]; then
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" || true
  fi
  # The mounts lived in a namespace that has ended with its processes; --one-file-system is an additional safeguard.
  [ -n "$keep" ] || rm -rf --one-file-system "$folder"
  if [ -n "$logger" ]; then
    exec >&- 2>&-
    wait "$logger" || true
  fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# run_inside COMMAND: runs it in the new system, in namespaces that end all processes and mounts with them.
run_inside() {
  # shellcheck disable=SC2016
  setsid unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    exec chroot "$1" env -i "${@:3}" HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      bash -c "cd /root/croton && $2"' run_inside "$folder/system" "$1" "${settings[@]}" </dev/null &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

# Removes the hosts of mirrors and indexes from the log.
without_hosts() {
  local hosts host script=
  hosts=$(printf '%s\n' "$mirror" "${settings[@]}" | grep -oE '[a-z]+://[^ ]+' | sed -E 's#^[a-z]+://([^/@]*@)?([^/:]+).*#\2#' |
    sort -u)
  for host in $hosts; do script+="s#([a-z]+://)?([^/@ ]*@)?${host//./\\.}#MIRROR#g;"; done
  sed -u -E "$script"
}

# The page of a log: the commands, their announced costs, and their results.
summarise() {
  printf '# The two commands on a fresh Debian 12\n\nMade by `scripts/try_fresh.sh --summary`.\n\n```text\n'
  sed -n '/^==> /p; /^    [A-Z].*[^;]$/p; /^[0-9]*% tests passed/p; /^Total Test time/p; /(Skipped)$/p' "$1"
  printf '```\n'
}

main() {
  say "Croton $(git -C "$root" rev-parse --short HEAD) on a fresh Debian 12, $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) cores"
  [ -z "$(git -C "$root" status --porcelain)" ] || note "Changes that are not committed are not part of this."
  say "Making the system"
  debootstrap --variant=minbase bookworm "$folder/system" ${mirror:+"$mirror"} >"$folder/debootstrap.log" ||
    { tail -20 "$folder/debootstrap.log"; fail "debootstrap failed."; }
  cp /etc/hosts "$folder/system/etc/hosts"
  local proxy
  proxy=$(apt-config shell proxy Acquire::http::Proxy)
  if [ -n "$proxy" ]; then
    eval "$proxy"
    echo "Acquire::http::Proxy \"$proxy\";" >"$folder/system/etc/apt/apt.conf.d/90proxy"
  fi
  if [ -n "${PIP_CERT:-}" ]; then
    cp "$PIP_CERT" "$folder/system/root/certificates.pem"
    settings+=(PIP_CERT=/root/certificates.pem)
  fi
  git clone -q --no-hardlinks "$root" "$folder/system/root/croton"
  local command start
  for command in scripts/quickstart.sh scripts/test.sh; do
    say "$command"
    start=$SECONDS
    run_inside "$command" || fail "$command failed with status $?."
    say "$command passed in $((SECONDS - start)) s; $(du -sm "$folder/system" | cut -f1) MB in the system"
  done
  say "Both passed."
}

mirror=$(debian_mirror)
mapfile -t settings < <(network_settings)
mkdir -p "$(dirname "$log")"
exec 3>&1 > >(without_hosts | tee "$log" >&3) 2>&1
logger=$!
main
exec >&- 2>&- && wait "$logger" && logger=''  # the log is complete when its writer has ended
if [ -n "$summary" ]; then summarise "$log" >"$summary"; fi

#!/usr/bin/env bash
# Makes drover/base:trixie, the base of every image: debian:trixie-slim where a registry answers, a debootstrap of the same release elsewhere.
# The mirror of the debootstrap is the one that this machine's own apt uses. Does nothing where the image exists; --force makes it again.
set -euo pipefail
cd "$(dirname "$0")/.."

image=drover/base:trixie
suite=trixie

if [ "${1:-}" != --force ] && docker image inspect "$image" >/dev/null 2>&1; then exit 0; fi

if [ "${DROVER_BASE_PULL:-1}" = 1 ]; then
  echo "base: pulling debian:$suite-slim"
  # Where there is no `timeout` there is no debootstrap either, so waiting is right.
  limit=$(command -v timeout >/dev/null && echo "timeout ${DROVER_PULL_TIMEOUT_S:-30}" || true)
  if $limit docker pull -q "debian:$suite-slim" >/dev/null 2>&1; then
    docker tag "debian:$suite-slim" "$image"
    exit 0
  fi
fi

# Prints the first Debian archive of apt's sources, in the deb822 or the one-line form. A security archive is not one that can be bootstrapped from.
mirror() {
  {
    sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' /etc/apt/sources.list.d/*.sources
    sed -nE 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list
  } 2>/dev/null | grep -E '/debian/?$' | head -n 1
}

url=${DROVER_DEBIAN_MIRROR:-$(mirror || true)}
if [ -z "$url" ] || ! command -v debootstrap >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "base: no registry answers, and debootstrap (as root, with a Debian mirror in apt's sources or DROVER_DEBIAN_MIRROR) is not possible here." >&2
  exit 1
fi

echo "base: no registry answers; debootstrap of $suite (about 30 s)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! debootstrap --variant=minbase "$suite" "$work/root" "$url" >"$work/log" 2>&1; then
  tail -n 20 "$work/log" >&2
  exit 1
fi
rm -rf "$work/root/var/cache/apt/archives"/*.deb "$work/root/var/lib/apt/lists"/*
tar -C "$work/root" -c . | docker import - "$image" >/dev/null

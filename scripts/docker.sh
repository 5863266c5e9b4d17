#!/usr/bin/env bash
# Makes sure that a Docker daemon answers. Changes nothing where one does.
# As root on Debian it installs and starts one, unless DROVER_NO_INSTALL=1; elsewhere it says what to install and exits with 3.
set -euo pipefail

answers() {
  if command -v timeout >/dev/null; then timeout 20 docker info; else docker info; fi >/dev/null 2>&1
}

if command -v docker >/dev/null && answers; then exit 0; fi

advice() {
  echo "No Docker daemon answers. Install Docker Engine 20.10 or later and start it (https://docs.docker.com/engine/install/);" >&2
  echo "on Debian, as root: apt-get install docker.io containerd runc iptables debootstrap && dockerd" >&2
  exit 3
}

if [ "${DROVER_NO_INSTALL:-0}" = 1 ] || [ "$(id -u)" != 0 ] || [ ! -f /etc/debian_version ]; then advice; fi

# Two starters at once must not make two daemons.
exec 9>"${TMPDIR:-/tmp}/drover-docker.lock"
flock 9
if command -v docker >/dev/null && answers; then exit 0; fi

if ! command -v dockerd >/dev/null || ! command -v debootstrap >/dev/null || ! command -v iptables >/dev/null; then
  echo "docker: installing docker.io, containerd, runc, iptables and debootstrap with apt-get (about half a minute)"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null || true
  apt-get install -y -qq --no-install-recommends docker.io containerd runc iptables debootstrap >/dev/null
fi

log=/var/log/drover-dockerd.log
echo "docker: starting dockerd (it keeps running after this command; log in $log)"
# The daemon must hold neither the lock nor the terminal of the command that started it.
setsid dockerd >"$log" 2>&1 9>&- </dev/null &

for _ in $(seq 1 60); do
  if answers; then exit 0; fi
  sleep 0.5
done
echo "docker: dockerd did not answer within 30 s; the end of its log:" >&2
tail -n 20 "$log" >&2
exit 1

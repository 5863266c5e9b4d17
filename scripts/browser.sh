#!/usr/bin/env bash
# Makes sure that a Chromium for the viewer's browser test is there. Changes nothing where one is.
# As root on Debian it installs one, unless DROVER_NO_INSTALL=1; elsewhere it says what to install and exits with 3.
set -euo pipefail

if [ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null; then exit 0; fi

if [ "${DROVER_NO_INSTALL:-0}" = 1 ] || [ "$(id -u)" != 0 ] || [ ! -f /etc/debian_version ]; then
  echo "No Chromium is installed, and the viewer's test drives a real browser. Install chromium, or set CHROMIUM to its path." >&2
  exit 3
fi

echo "browser: installing chromium with apt-get (about a minute)"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || true
apt-get install -y -qq --no-install-recommends chromium >/dev/null

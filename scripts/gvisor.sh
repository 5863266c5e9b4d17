#!/usr/bin/env bash
# Makes sure that the Docker daemon knows the runtime runsc (gVisor). Changes nothing where it does.
# As root on Debian it installs runsc and registers it without a restart, unless DROVER_NO_INSTALL=1; elsewhere it says what to do and exits with 3.
set -euo pipefail
cd "$(dirname "$0")/.."

config=/etc/docker/daemon.json

scripts/docker.sh
known() { docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}' | grep -qw runsc; }
if known; then exit 0; fi

advice() {
  echo "The Docker daemon does not know the runtime runsc. Install gVisor (https://gvisor.dev/docs/user_guide/install/), add to $config" >&2
  echo '  "runtimes": {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": ["--network=none"]}}' >&2
  echo "and send SIGHUP to dockerd. Without --network=none no container without a network starts." >&2
  exit 3
}

if [ "${DROVER_NO_INSTALL:-0}" = 1 ] || [ "$(id -u)" != 0 ] || [ ! -f /etc/debian_version ]; then advice; fi

exec 9>"${TMPDIR:-/tmp}/drover-docker.lock"
flock 9
if known; then exit 0; fi

if ! command -v runsc >/dev/null; then
  echo "gvisor: installing runsc with apt-get"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null || true
  apt-get install -y -qq --no-install-recommends runsc >/dev/null
fi

# What the file says already stays; it is replaced in one step.
mkdir -p "$(dirname "$config")"
node -e '
  const fs = require("node:fs");
  const [config, path] = process.argv.slice(1);
  const settings = fs.existsSync(config) ? JSON.parse(fs.readFileSync(config, "utf8") || "{}") : {};
  settings.runtimes = { ...settings.runtimes, runsc: { path, runtimeArgs: ["--network=none"] } };
  fs.writeFileSync(`${config}.new`, `${JSON.stringify(settings, null, 2)}\n`);
  fs.renameSync(`${config}.new`, config);
' "$config" "$(command -v runsc)"
echo "gvisor: registered runsc in $config"

kill -HUP "$(cat /var/run/docker.pid)"
for _ in $(seq 1 40); do
  if known; then exit 0; fi
  sleep 0.25
done
echo "gvisor: the daemon did not take up the runtime; restart it, or look at its log" >&2
exit 1

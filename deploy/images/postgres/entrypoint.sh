#!/bin/sh
# Makes the cluster at first start and then becomes the server. The server answers on its port only when the cluster is complete.
set -eu

user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ] && [ "$method" != trust ]; then
    echo "POSTGRES_PASSWORD is empty: set it, or set POSTGRES_HOST_AUTH_METHOD=trust for a database that anyone who reaches it may use." >&2
    exit 1
  fi
  secret=$(mktemp)
  printf '%s\n' "${POSTGRES_PASSWORD:-unused}" > "$secret"
  initdb --username="$user" --pwfile="$secret" --auth-local=trust --auth-host="$method" --encoding=UTF8 --locale=C.UTF-8 --data-checksums >/dev/null
  rm -f "$secret"
  echo "host all all all $method" >> "$PGDATA/pg_hba.conf"
  if [ "$database" != postgres ]; then
    echo "CREATE DATABASE \"$database\";" | postgres --single -j postgres >/dev/null
  fi
fi

exec postgres -c listen_addresses='*' "$@"

#!/usr/bin/env bash
# Builds the images of deploy/images (all, or the named ones) where their inputs changed; the convention stands in deploy/images/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

base=drover/base:trixie
export DOCKER_BUILDKIT=0

scripts/docker.sh
# Two builders at once would do the same work twice.
if command -v flock >/dev/null; then
  exec 8>"${TMPDIR:-/tmp}/drover-images.lock"
  flock 8
fi
scripts/base-image.sh 8>&-
base_id=$(docker image inspect -f '{{.Id}}' "$base")

# folder NAME: the folder of an image; sandbox-go is the variant go of the folder sandbox.
folder() { if [ -d "deploy/images/$1" ]; then echo "$1"; else echo "${1%-*}"; fi; }

# variant NAME: the variant of its folder that an image is; nothing where it has none.
variant() { if [ ! -d "deploy/images/$1" ]; then echo "${1##*-}"; fi; }

# header NAME KEY: the value of the "# KEY: value" comment at the head of an image's Dockerfile.
header() { sed -n "/^[^#]/q; s/{variant}/$(variant "$1")/; s/^# $2: *//p" "deploy/images/$(folder "$1")/Dockerfile"; }

sha() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# files NAME: what of its folder an image is made of; a variant has one file of its own beside the Dockerfile.
files() {
  local own
  own=$(variant "$1")
  if [ -z "$own" ]; then echo "deploy/images/$1"; else echo "deploy/images/$(folder "$1")/Dockerfile deploy/images/$(folder "$1")/$own.sh"; fi
}

# inputs NAME: a hash over everything that decides what the image holds.
inputs() {
  local name=$1 need file
  {
    echo "$base_id$(variant "$name")"
    for need in $(header "$name" needs); do docker image inspect -f '{{.Id}}' "$(header "$need" tag)"; done
    # shellcheck disable=SC2046 # the header is a list of paths
    find $(files "$name") $(header "$name" context) -type f | LC_ALL=C sort -u | while IFS= read -r file; do
      if [ -x "$file" ]; then echo "executable"; fi
      echo "$file $(sha <"$file")"
    done
  } | sha | cut -d' ' -f1
}

# context NAME: writes the build context as a tar.
context() {
  local paths
  paths=$(header "$1" context)
  if [ -z "$paths" ]; then
    tar -C "deploy/images/$(folder "$1")" -c .
  else
    # shellcheck disable=SC2086 # the header is a list of paths
    tar -c $paths "deploy/images/$(folder "$1")/Dockerfile"
  fi
}

considered=" "

build() {
  local name=$1 need tag hash dockerfile started log
  case $considered in *" $name "*) return ;; esac
  considered="$considered$name "
  case " $(names)" in *" $name "*) ;; *)
    echo "images: there is no image $name; there are: $(names)" >&2
    exit 2
    ;;
  esac
  for need in $(header "$name" needs); do build "$need"; done
  tag=$(header "$name" tag)
  hash=$(inputs "$name")
  if [ "$(docker image inspect -f '{{index .Config.Labels "drover.inputs"}}' "$tag" 2>/dev/null)" = "$hash" ]; then return; fi
  dockerfile=Dockerfile
  if [ -n "$(header "$name" context)" ]; then dockerfile=deploy/images/$(folder "$name")/Dockerfile; fi
  echo "images: building $tag"
  started=$SECONDS
  log=$(mktemp)
  if ! context "$name" | docker build --force-rm -t "$tag" -f "$dockerfile" --build-arg "BASE=$base" --build-arg "VARIANT=$(variant "$name")" --label "drover.inputs=$hash" - >"$log" 2>&1 8>&-; then
    tail -n 40 "$log" >&2
    echo "images: $tag failed; the whole log is in $log" >&2
    exit 1
  fi
  rm -f "$log"
  echo "images: built $tag in $((SECONDS - started)) s"
}

names() {
  local file name own
  for file in deploy/images/*/Dockerfile; do
    name=$(basename "$(dirname "$file")")
    own=$(header "$name" variants)
    # shellcheck disable=SC2086 # the header is a list of names
    if [ -z "$own" ]; then echo "$name"; else printf "$name-%s\n" $own; fi
  done | tr '\n' ' '
}

# shellcheck disable=SC2046 # folder names have no spaces
if [ $# = 0 ]; then set -- $(names); fi
for name in "$@"; do build "$name"; done

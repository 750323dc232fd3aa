#!/usr/bin/env bash
# Installs a program that loads Compose files with the library of `docker compose`.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/compose" && pwd)"
version="$(cat "$source"/* | sha256sum | cut -c1-12)"

build() {
  need go golang-go
  say "building the loader of Compose files (a minute, once)"
  cd "$source"
  GOFLAGS="-buildvcs=false -modcacherw" nice -n 19 go build -trimpath -o "$1/bin/compose" . >&2
}

place "compose-$version" bin/compose

#!/usr/bin/env bash
# Builds a program that checks pods against the Pod Security Standards with the API server's own code.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/pod-security" && pwd)"
version="$(cat "$source"/* | sha256sum | cut -c1-12)"

build() {
  need go golang-go
  say "building the Pod Security check (1 to 2 minutes, once)"
  cd "$source"
  GOFLAGS="-buildvcs=false -modcacherw" nice -n 19 go build -trimpath -o "$1/bin/pod-security" . >&2
}

place "pod-security-$version" bin/pod-security

#!/usr/bin/env bash
# Builds a proxy for tests that black-holes, slows and resets connections between processes.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=2.12.0

build() {
  need go golang-go
  say "building toxiproxy $version (1 minute, once)"
  # The program is named after its folder, `server`.
  GOBIN="$1/bin" GOFLAGS=-modcacherw nice -n 19 go install "github.com/Shopify/toxiproxy/v2/cmd/server@v$version" >&2
  mv "$1/bin/server" "$1/bin/toxiproxy"
}

place "toxiproxy-$version" bin/toxiproxy

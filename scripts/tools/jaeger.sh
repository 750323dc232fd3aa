#!/usr/bin/env bash
# Builds Jaeger, a trace store for tests: OTLP in, GET /api/traces/ID out. It is built from Go modules, which takes 4 to
# 6 minutes the first time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.76.0
modules="$(cd "$(dirname "${BASH_SOURCE[0]}")/jaeger" && pwd)"

build() {
  need go golang-go
  say "building Jaeger $version (4 to 6 minutes, once)"
  export GOFLAGS="-buildvcs=false -modcacherw" GOTOOLCHAIN=auto
  cd "$modules"
  nice -n 19 go build -trimpath -ldflags="-s -w" -o "$1/jaeger" github.com/jaegertracing/jaeger/cmd/all-in-one >&2
}

place "jaeger-$version" jaeger

#!/usr/bin/env bash
# A server that speaks S3's protocol over a folder, for tests. Built from source, 2 minutes the first time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.8.0

build() {
  need go golang-go
  say "building versitygw $version (2 minutes, once)"
  GOBIN="$1/bin" GOFLAGS=-modcacherw go install "github.com/versity/versitygw/cmd/versitygw@v$version" >&2
}

place "versitygw-$version" bin/versitygw

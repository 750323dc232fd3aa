#!/usr/bin/env bash
# Builds a server for tests with S3's protocol on a folder. It is built from source, which takes 2 minutes the first
# time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.8.0

build() {
  need go golang-go
  say "building versitygw $version (2 minutes, once)"
  GOBIN="$1/bin" GOFLAGS=-modcacherw go install "github.com/versity/versitygw/cmd/versitygw@v$version" >&2
}

place "versitygw-$version" bin/versitygw

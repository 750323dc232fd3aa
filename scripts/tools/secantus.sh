#!/usr/bin/env bash
# Builds SecantusDB, a server for tests with MongoDB's protocol (GPL-2.0: it runs as a separate process and is never
# shipped). It is built from source, which takes 9 to 17 minutes the first time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.5.3-beta.196

build() {
  need cmake cmake
  need cc build-essential
  need cargo cargo
  say "building secantus $version (9 to 17 minutes, once)"
  cargo install secantus-mdb --version "$version" --locked --ignore-rust-version --root "$1" --quiet >&2
}

place "secantus-$version" bin/secantusd-rs

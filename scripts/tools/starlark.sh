#!/usr/bin/env bash
# Installs an interpreter of Starlark, the language of Tiltfiles, for Python. Prints the path of a marker in its folder.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build() {
  need python3 python3 python3-pip
  say "installing a Starlark interpreter (5 seconds, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
    --target "$1" starlark-pyo3==2026.1.3 PyYAML==6.0.3 >&2
  install -m 755 /dev/null "$1/ready"
}

place "starlark-2026.1.3" ready

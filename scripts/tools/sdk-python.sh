#!/usr/bin/env bash
# Installs a Python with the tools that generate and test the Python SDK: datamodel-code-generator, mypy, and the
# dependencies of the SDK.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

generator=0.89.0
mypy=2.4.1
httpx=0.28.1
extensions=4.16.0

build() {
  need python3 python3 python3-venv
  say "installing datamodel-code-generator $generator and mypy $mypy (20 seconds, once)"
  python3 -m venv "$1" >&2 || { need_venv && python3 -m venv "$1" >&2; }
  "$1/bin/pip" install --quiet --disable-pip-version-check "datamodel-code-generator==$generator" "mypy==$mypy" \
    "httpx==$httpx" "typing_extensions==$extensions" >&2
}

need_venv() { say "installing python3-venv by apt-get" && apt-get install -y -qq python3-venv >&2; }

place "sdk-python-$generator-$mypy-$httpx-$extensions" bin/python3

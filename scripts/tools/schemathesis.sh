#!/usr/bin/env bash
# Installs Schemathesis, which sends an API requests that it generates from the API's description.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=4.32.5

build() {
  need python3 python3 python3-venv
  say "installing Schemathesis $version (20 seconds, once)"
  python3 -m venv "$1" >&2 || { need_venv && python3 -m venv "$1" >&2; }
  "$1/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >&2
  # The scripts of a virtual environment contain its path, and this one is moved later, so they are run by the
  # interpreter.
  printf '#!/usr/bin/env bash\nhere="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nexec "$here/python3" -m schemathesis.cli "$@"\n' >"$1/bin/schemathesis-run"
  chmod 755 "$1/bin/schemathesis-run"
}

need_venv() { say "installing python3-venv by apt-get" && apt-get install -y -qq python3-venv >&2; }

place "schemathesis-$version" bin/schemathesis-run

#!/usr/bin/env bash
# Schemathesis sends an API requests that it makes from the API's own description.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=4.32.5

build() {
  need python3 python3 python3-venv
  say "installing Schemathesis $version (20 seconds, once)"
  python3 -m venv "$1" >&2 || { need_venv && python3 -m venv "$1" >&2; }
  "$1/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >&2
  # A virtual environment names its folder in its scripts, and this one is moved: they run by the interpreter instead.
  printf '#!/usr/bin/env bash\nhere="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nexec "$here/python3" -m schemathesis.cli "$@"\n' >"$1/bin/schemathesis-run"
  chmod 755 "$1/bin/schemathesis-run"
}

need_venv() { say "installing python3-venv by apt-get" && apt-get install -y -qq python3-venv >&2; }

place "schemathesis-$version" bin/schemathesis-run

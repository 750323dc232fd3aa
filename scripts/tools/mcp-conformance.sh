#!/usr/bin/env bash
# Installs the public conformance suite of the Model Context Protocol. It needs Node 22, which the project itself does
# not use.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.1.16
node="$("$(dirname "${BASH_SOURCE[0]}")/node24.sh")"

build() {
  need npm npm
  say "installing the MCP conformance suite $version (30 seconds, once)"
  npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --save-exact --loglevel=error \
    "@modelcontextprotocol/conformance@$version" >&2
  printf '#!/usr/bin/env bash\nexec "%s" "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"\n' "$node" >"$1/run"
  chmod 755 "$1/run"
}

place "mcp-conformance-$version" run

#!/usr/bin/env bash
# Installs Redocly, which lints an OpenAPI document, and openapi-typescript, which generates types from it. The latter
# needs the compiler's API, which TypeScript 7 does not have.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

redocly=2.77.0
openapi_typescript=7.13.0
typescript=5.9.3

build() {
  need npm npm
  say "installing Redocly $redocly and openapi-typescript $openapi_typescript (20 seconds, once)"
  npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --save-exact --loglevel=error \
    "@redocly/cli@$redocly" "openapi-typescript@$openapi_typescript" "typescript@$typescript" >&2
  printf '#!/usr/bin/env bash\nprogram=$1 && shift\nexec "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/node_modules/.bin/$program" "$@"\n' >"$1/run"
  chmod 755 "$1/run"
}

# The program is called with the name of a tool and its arguments: `run redocly lint`, `run openapi-typescript`.
place "openapi-npm-$redocly-$openapi_typescript-$typescript" run

# Sourced by the installers. Each of them puts one pinned tool into the cache and prints the tool's path. If the tool
# exists, it only prints the path.
set -euo pipefail

tools="${COMMONPLACE_TOOLS:-$HOME/.cache/commonplace/tools}"

say() { echo "tools: $*" >&2; }

# need COMMAND PACKAGE…: ensures that a command exists, by installing Debian packages if possible.
need() {
  local command="$1"
  shift
  command -v "$command" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    say "installing $* by apt-get"
    apt-get install -y -qq "$@" >&2 || { apt-get update -qq >&2 && apt-get install -y -qq "$@" >&2; }
  fi
  command -v "$command" >/dev/null || { say "$command is missing: install $*"; exit 1; }
}

# place NAME BINARY: prints the path of a tool if it exists. Otherwise runs `build DIR` in a temporary folder and moves
# the result into place in one step, so that an interrupted run leaves nothing incomplete. If two processes request the
# same tool, it is built once; the second waits for the first.
place() {
  local home="$tools/$1" binary="$2" temporary
  if [ ! -x "$home/$binary" ]; then
    mkdir -p "$tools"
    exec 8>"$tools/.$1.lock"
    if command -v flock >/dev/null; then flock 8; fi
  fi
  if [ ! -x "$home/$binary" ]; then
    temporary="$(mktemp -d "$tools/.$1.XXXXXX")"
    # shellcheck disable=SC2064 # its name is gone by then
    trap "rm -rf '$temporary'" EXIT
    build "$temporary"
    [ -x "$temporary/$binary" ] || { say "$1 was built without $binary"; exit 1; }
    rm -rf "$home"
    mv "$temporary" "$home"
    trap - EXIT
    say "$1 installed in $home"
  fi
  echo "$home/$binary"
}

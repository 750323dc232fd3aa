# Sourced by installers of programs from Go's module proxy. Each is built from source in one or two minutes.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# go_tool NAME VERSION PACKAGE
go_tool() {
  local name="$1" version="$2" package="$3"
  build() {
    need go golang-go
    say "building $name $version (1 to 2 minutes, once)"
    GOBIN="$1/bin" GOFLAGS=-modcacherw nice -n 19 go install "$package@v$version" >&2
  }
  place "$name-$version" "bin/$name"
}

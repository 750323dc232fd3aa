#!/usr/bin/env bash
# Installs helm-docs, which generates the README of a chart from its values.
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

go_tool helm-docs 1.14.2 github.com/norwoodj/helm-docs/cmd/helm-docs

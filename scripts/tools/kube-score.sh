#!/usr/bin/env bash
# Advice on manifests.
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

go_tool kube-score 1.20.0 github.com/zegl/kube-score/cmd/kube-score

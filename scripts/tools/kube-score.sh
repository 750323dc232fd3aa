#!/usr/bin/env bash
# Installs kube-score, which gives advice on manifests.
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

go_tool kube-score 1.20.0 github.com/zegl/kube-score/cmd/kube-score

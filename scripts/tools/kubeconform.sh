#!/usr/bin/env bash
# Installs kubeconform, which checks manifests against the schemas of a Kubernetes version.
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

go_tool kubeconform 0.8.0 github.com/yannh/kubeconform/cmd/kubeconform

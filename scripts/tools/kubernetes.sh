#!/usr/bin/env bash
# Builds a Kubernetes control plane for tests: API server, controllers, scheduler, etcd, and kwok, which simulates nodes
# and pods. It is built from Go modules, which takes 8 to 15 minutes and 2 GB of memory the first time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.36.3
modules="$(cd "$(dirname "${BASH_SOURCE[0]}")/kubernetes" && pwd)"

build() {
  need go golang-go
  say "building Kubernetes $version (8 to 15 minutes, once)"
  local stamp="k8s.io/component-base/version"
  local numbers="-X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=36"
  export GOFLAGS="-buildvcs=false -modcacherw" GOTOOLCHAIN=auto
  cd "$modules"
  nice -n 19 go build -trimpath -ldflags="-s -w $numbers" -o "$1/" k8s.io/kubernetes/cmd/kube-apiserver \
    k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-scheduler sigs.k8s.io/kwok/cmd/kwok >&2
  nice -n 19 go build -trimpath -ldflags="-s -w" -o "$1/etcd" go.etcd.io/etcd/server/v3 >&2
  local stages
  stages="$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage"
  mkdir -p "$1/stages"
  local folder
  for folder in node/fast node/heartbeat-with-lease pod/fast; do
    find "$stages/$folder" -name '*.yaml' ! -name kustomization.yaml -exec install -m 644 {} "$1/stages/" \;
  done
}

place "kubernetes-$version" kube-apiserver

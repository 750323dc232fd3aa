#!/usr/bin/env bash
# Creates JSON schemas for kubeconform: those of Kubernetes' kinds for several minors, from a Python package, and those
# of the Gateway API, the Prometheus operator and KEDA, from their modules. Prints the path of a marker file; the
# folders are next to it.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.37.0
gateway_api=1.4.1
prometheus_operator=0.85.0
keda=2.16.1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

operator=github.com/prometheus-operator/prometheus-operator
scaler=github.com/kedacore/keda/v2

build() {
  need python3 python3 python3-pip
  need go golang-go
  say "installing schemas of Kubernetes and of the Gateway API (30 seconds, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
    --target "$1/package" "kubernetes-validate==$version" >&2
  (cd "$1" && go mod init schemas >/dev/null 2>&1 && GOFLAGS=-modcacherw go mod download "sigs.k8s.io/gateway-api@v$gateway_api" "$operator@v$prometheus_operator" "$scaler@v$keda") >&2
  local crds rules
  crds="$(cd "$1" && GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' "sigs.k8s.io/gateway-api@v$gateway_api")/config/crd/standard"
  mkdir -p "$1/crds"
  cp "$crds"/gateway.networking.k8s.io_httproutes.yaml "$1/crds/"
  rules="$(cd "$1" && GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' "$operator@v$prometheus_operator")/example/prometheus-operator-crd"
  cp "$rules"/monitoring.coreos.com_{servicemonitors,prometheusrules}.yaml "$1/crds/"
  rules="$(cd "$1" && GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' "$scaler@v$keda")/config/crd/bases"
  cp "$rules"/keda.sh_scaledobjects.yaml "$1/crds/"
  chmod u+w "$1"/crds/*
  node "$here/kubernetes/schemas.mjs" "$1" >&2
  rm -rf "$1/package" "$1/go.mod" "$1/go.sum"
  install -m 755 /dev/null "$1/ready"
}

place "kubernetes-schemas-$version-gateway-api-$gateway_api-prometheus-operator-$prometheus_operator-keda-$keda" ready

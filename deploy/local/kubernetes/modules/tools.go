//go:build tools

// Package testcluster names the programs that deploy/local/kubernetes/build compiles.
package testcluster

import (
	_ "github.com/ray-project/kuberay/ray-operator"
	_ "go.etcd.io/etcd/server/v3"
	_ "helm.sh/helm/v3/cmd/helm"
)

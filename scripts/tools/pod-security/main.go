// Reads a JSON list of {"source", "kind", "name", "metadata", "spec"} pods on standard input and holds each against
// the Pod Security level "restricted" of the version given. Prints what is refused, one a line; ends with 1 if any is.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

type pod struct {
	Source   string            `json:"source"`
	Kind     string            `json:"kind"`
	Name     string            `json:"name"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     corev1.PodSpec    `json:"spec"`
}

func main() {
	version, err := api.ParseVersion(os.Args[1])
	stop(err)
	var pods []pod
	stop(json.NewDecoder(os.Stdin).Decode(&pods))
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	stop(err)
	level := api.LevelVersion{Level: api.LevelRestricted, Version: version}
	refused := 0
	for _, one := range pods {
		verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &one.Metadata, &one.Spec))
		if !verdict.Allowed {
			refused++
			fmt.Printf("%s: %s/%s: %s\n", one.Source, one.Kind, one.Name, verdict.ForbiddenDetail())
		}
	}
	fmt.Printf("%d pods, %d refused\n", len(pods), refused)
	if refused > 0 || len(pods) == 0 {
		os.Exit(1)
	}
}

func stop(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

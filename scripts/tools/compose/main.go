// Loads a Compose file as `docker compose config` does: by its schema, with variables, and with what its parts say of each
// other. Prints the result as JSON; ends with 1 and the reason where it is refused. Variables are NAME=value arguments.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(
		[]string{os.Args[1]},
		cli.WithName("commonplace"),
		cli.WithEnv(os.Args[2:]),
		cli.WithProfiles([]string{"*"}),
		cli.WithResolvedPaths(false),
	)
	if err == nil {
		project, failed := options.LoadProject(context.Background())
		if err = failed; err == nil {
			err = json.NewEncoder(os.Stdout).Encode(project)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

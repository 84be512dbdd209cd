// Command writ-client is all of writ but the fast form of writ run: writ starts it for every other command.
package main

import (
	"os"

	"writ/internal/cli"
	"writ/internal/cli/writ"
	"writ/internal/confine/sandbox"
)

func main() {
	sandbox.Enter()
	os.Exit(cli.Main("writ", writ.Run))
}

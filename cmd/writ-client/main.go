// Command writ-client is writ without its two fast commands: writ becomes this program for everything but writ run and
// the quick part of writ hook.
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

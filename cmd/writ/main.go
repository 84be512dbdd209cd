// Command writ is the client of a Writ server.
package main

import (
	"os"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

func main() { os.Exit(cli.Main("writ", writ.Run)) }

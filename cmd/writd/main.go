// Command writd is the Writ server.
package main

import (
	"os"

	"writ/internal/cli"
	"writ/internal/cli/writd"
)

func main() { os.Exit(cli.Main("writd", writd.Run)) }

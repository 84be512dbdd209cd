// Command writ is the client of a Writ server.
package main

import (
	"os"

	"writ/internal/cli/writ"
	"writ/internal/confine/sandbox"
)

func main() {
	sandbox.Enter()
	os.Exit(writ.Main(os.Args[1:]))
}

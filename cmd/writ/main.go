// Command writ is the client of a Writ server. It starts before every command of an agent that is confined, so writ run
// is all that it links. The other commands are in writ-client beside it, which takes longer to start.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"writ/internal/cli/run"
	"writ/internal/confine/sandbox"
)

func main() {
	sandbox.Enter()
	if len(os.Args) > 1 && os.Args[1] == "run" {
		if code, ran := run.Main(os.Args[2:], os.Stderr); ran {
			os.Exit(code)
		}
	}
	fmt.Fprintf(os.Stderr, "writ: cannot start writ-client, which belongs into the directory of writ: %v\n", client())
	os.Exit(1)
}

// client becomes writ-client. It returns only if that fails.
func client() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(program), "writ-client")
	return syscall.Exec(beside, append([]string{"writ"}, os.Args[1:]...), os.Environ())
}

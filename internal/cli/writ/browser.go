package writ

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser opens a page, if it can. The address was printed too, so it may fail.
func openBrowser(page string) {
	command := browser(runtime.GOOS, os.Getenv)
	if command == nil {
		return
	}
	program := exec.Command(command[0], append(command[1:], page)...)
	if program.Start() == nil {
		go func() { _ = program.Wait() }() // it ends when they close it
	}
}

// browser is the command that opens a page: from BROWSER, or that of the system; none
// where there is no screen.
func browser(system string, environment func(string) string) []string {
	if chosen := strings.Fields(environment("BROWSER")); len(chosen) > 0 {
		return chosen
	}
	switch {
	case system == "darwin":
		return []string{"open"}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case environment("DISPLAY") != "" || environment("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open"}
	}
	return nil
}

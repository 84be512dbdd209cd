// Package hosttest drives the real Gemini CLI in tests, headless and against a model that plays a script. It also
// says what the host makes of a hook's answer, as a rule that the real host is held against.
package hosttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Host is an installed version of the Gemini CLI.
type Host struct {
	Version string
	Program string // the path of gemini
}

// Hosts are the versions that tests run, newest first. They are installed from npm when they are absent.
func Hosts(t testing.TB) []Host {
	t.Helper()
	locks := filepath.Join(root(t), "test", "gemini")
	folders, err := os.ReadDir(locks)
	if err != nil {
		t.Fatalf("find the versions of the Gemini CLI: %v", err)
	}
	var hosts []Host
	for _, f := range slices.Backward(folders) {
		hosts = append(hosts, install(t, f.Name()))
	}
	if len(hosts) == 0 {
		t.Fatalf("%s names no version of the Gemini CLI", locks)
	}
	return hosts
}

// Newest is the newest version that tests run.
func Newest(t testing.TB) Host {
	t.Helper()
	return Hosts(t)[0]
}

func install(t testing.TB, version string) Host {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(root(t), "scripts", "gemini"), version).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("install the Gemini CLI %s: %v", version, err)
	}
	folder := strings.TrimSpace(string(output))
	return Host{version, filepath.Join(folder, "node_modules", ".bin", "gemini")}
}

// root is the folder of the repository: the first above the test's that has the lock files of the host.
func root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "test", "gemini")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			t.Fatal("no folder above this test has test/gemini, the lock files of the Gemini CLI")
		}
		folder = above
	}
}

package hosttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is where the programs are that all tests use.
var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "writ-hosttest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	_ = os.Remove(older())
	os.Exit(code)
}

// programs builds writ and what belongs to it, once for all tests, and returns the folder.
var programs = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "build", "-o", built+"/", "writ/cmd/writ", "writ/cmd/writ-client",
		"writ/cmd/writ-plan")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build writ: %w: %s", err, output)
	}
	// Not written here: a process that is being started might still hold the open file, and then nobody can start it.
	if output, err := exec.Command("cp", built+"/writ", older()).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy writ: %w: %s", err, output)
	}
	return built, nil
})

// older is a writ with another time than the one that tests use.
func older() string { return built + ".older" }

// putPrograms puts the programs into a folder: as links, which are quick, or as copies, which a test may change.
func putPrograms(t *testing.T, folder string, copies bool) {
	t.Helper()
	from, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	if copies {
		err = os.CopyFS(folder, os.DirFS(from))
	} else {
		err = linkAll(from, folder)
	}
	if err != nil {
		t.Fatalf("put the programs into %s: %v", folder, err)
	}
}

func linkAll(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := filepath.Glob(from + "/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Link(name, filepath.Join(to, filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

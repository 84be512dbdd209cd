package evasion

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/policy/shell"
)

// wantCompared is how many plain commands a run compares at least.
const wantCompared = 150

// TestPlainCommandsDoWhatIsSaid runs plain commands under strace: every program that
// they start and every file that they open or change must be one that was said.
func TestPlainCommandsDoWhatIsSaid(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("strace is missing (scripts/install strace): %v", err)
	}
	seed := daySeed(t)
	g, err := newGenerator(seed, readOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	commands := plainCommands(t, g, number(t, "EVASION_TRACES", 600))
	compared := 0
	runAll(t, len(commands), nil, func(i int) order { return traced(commands[i]) }, func(i int, o outcome) {
		if o.TimedOut {
			t.Logf("ran out of time: %q", commands[i])
			return
		}
		compared++
		if wrong := compare(shell.Parse(commands[i]), readTrace(o.Trace)); len(wrong) > 0 {
			t.Errorf("%s\n  %s", commands[i], strings.Join(wrong, "\n  "))
		}
	})
	t.Logf("EVASION_SEED=%d: %d plain commands compared with what they did", seed, compared)
	if compared < wantCompared {
		t.Errorf("%d plain commands were compared, want %d or more", compared, wantCompared)
	}
}

// plainCommands are the ordinary commands that are plain, and at most n harmless
// compositions that are.
func plainCommands(t *testing.T, g *generator, n int) []string {
	t.Helper()
	seen := map[string]bool{}
	var commands []string
	add := func(command string) {
		if !seen[command] && runsFreely(command) {
			seen[command] = true
			commands = append(commands, command)
		}
	}
	text, err := os.ReadFile(filepath.FromSlash("../../template/testdata/ordinary/commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			add(line)
		}
	}
	ordinary := len(commands)
	for i := 0; i < 100*n && len(commands) < ordinary+n; i++ {
		add(g.candidate(i, true))
	}
	t.Logf("%d ordinary commands and %d compositions are plain", ordinary, len(commands)-ordinary)
	return commands
}

// compare lists what a command did that was not said.
func compare(said shell.Command, did trace) (wrong []string) {
	for _, program := range slices.Sorted(maps.Keys(did.programs)) {
		name := path.Base(program)
		if !ownPart(program) && !slices.Contains(said.Programs, name) {
			wrong = append(wrong, fmt.Sprintf("started %s; said %v", program, said.Programs))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(did.writes)) {
		if !ownWrite(file) && !covers(said.Writes, file) {
			wrong = append(wrong, fmt.Sprintf("wrote %s; said %v", file, said.Writes))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(did.reads)) {
		if !ownRead(file) && !covers(said.Reads, file) && !covers(said.Writes, file) {
			wrong = append(wrong, fmt.Sprintf("read %s; said %v", file, said.Reads))
		}
	}
	return wrong
}

// covers reports whether a list of shell.Command names a file or a directory above it.
func covers(list []string, file string) bool {
	for _, said := range list {
		switch {
		case said == "**":
			said = workspace
		case said == "~" || strings.HasPrefix(said, "~/"):
			said = home + said[1:]
		case !path.IsAbs(said):
			said = path.Join(workspace, said)
		}
		if file == said || strings.HasPrefix(file, strings.TrimSuffix(said, "/")+"/") {
			return true
		}
	}
	return false
}

// ownPart reports whether a program is the shell itself, or a part of another program
// that nobody calls by hand.
func ownPart(program string) bool {
	return program == "/bin/bash" || strings.HasPrefix(program, "/usr/lib/") || strings.HasPrefix(program, "/usr/libexec/")
}

// ownRead reports whether a file is one that programs read by themselves: libraries,
// locales, terminals, settings of the system, descriptions of processes, devices. Where a
// program stands in a directory, it may look at its names.
func ownRead(file string) bool {
	for _, own := range []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev", "/run", "/tmp"} {
		if file == own || strings.HasPrefix(file, own+"/") {
			return true
		}
	}
	switch path.Base(file) {
	case ".gitignore", ".gitattributes", ".gitmodules", ".mailmap": // git's own
		return true
	}
	return file == "/" || file == workspace || strings.HasPrefix(file, workspace+"/.git/") || file == workspace+"/.git"
}

// ownWrite reports whether a file takes no trace of what is written, or is temporary.
func ownWrite(file string) bool {
	return file == "/dev/null" || file == "/dev/tty" || strings.HasPrefix(file, "/tmp/") ||
		strings.HasPrefix(file, "/proc/self/fd/") || strings.HasPrefix(file, "/dev/fd/")
}

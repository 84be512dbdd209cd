package evasion

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
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
	seed := seedOf(t)
	g, err := newGenerator(seed, programOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	commands := plainCommands(t, g, number(t, "EVASION_TRACES", 100))
	compared := 0
	runAll(t, len(commands), nil, func(i int) order { return traced(commands[i]) }, func(i int, o outcome) {
		if o.TimedOut {
			t.Logf("ran out of time: %q", commands[i])
			return
		}
		compared++
		if wrong := compare(shell.Parse(commands[i]), readTrace(o.Trace)); len(wrong) > 0 {
			t.Errorf("%s\n  %s", commands[i], strings.Join(wrong[:min(len(wrong), 4)], "\n  "))
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

// compare lists what a command did that was not said. As docs/shell.md has it, a directory
// that is written includes what is below, and .git/** the files that git tracks.
func compare(said shell.Command, did trace) (wrong []string) {
	say := func(format string, arguments ...any) { wrong = append(wrong, fmt.Sprintf(format, arguments...)) }
	for _, program := range slices.Sorted(maps.Keys(did.programs)) {
		name := path.Base(program)
		packs := slices.Contains(said.Programs, "tar") && slices.Contains([]string{"gzip", "bzip2", "xz"}, name)
		if !packs && !ownPart(program, did.programs[program]) && !slices.Contains(said.Programs, name) {
			say("started %s; said %v", program, said.Programs)
		}
	}
	said.Writes = withBelow(said.Writes)
	if slices.ContainsFunc(said.Reads, func(r string) bool { return strings.HasSuffix(r, ".git/**") }) {
		said.Reads = append(slices.Clone(said.Reads), "**")
	}
	for _, file := range slices.Sorted(maps.Keys(did.writes)) {
		// A new version is made beside the old one, then takes its name.
		if !ownWrite(file) && !covers(said.Writes, file) && !covers(said.Writes, did.moved[file]) {
			say("wrote %s; said %v", file, said.Writes)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(did.made)) {
		if !ownWrite(file) && !covers(said.Writes, file) && !leadsTo(file, said.Writes) {
			say("made %s; said %v", file, said.Writes)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(did.reads)) {
		if !ownRead(file) && !covers(said.Reads, file) && !covers(said.Writes, file) && !did.made[file] {
			say("read %s; said %v", file, said.Reads)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(did.lists)) {
		if !ownRead(file) && !inside(file) && !covers(said.Reads, file) {
			say("listed %s; said %v", file, said.Reads)
		}
	}
	return wrong
}

// absolute is a path of shell.Command from the root.
func absolute(said string) string {
	switch {
	case said == "~" || strings.HasPrefix(said, "~/"):
		return home + said[1:]
	case !path.IsAbs(said):
		return path.Join(workspace, said)
	}
	return path.Clean(said)
}

// covers reports whether a list of shell.Command names a file. In there, * is a part of
// a name and ** is everything below.
func covers(list []string, file string) bool {
	for _, said := range list {
		pattern := regexp.QuoteMeta(absolute(said))
		pattern = strings.ReplaceAll(pattern, `/\*\*/`, "/(.*/)?")
		pattern = strings.ReplaceAll(pattern, `/\*\*`, "(/.*)?")
		pattern = strings.ReplaceAll(pattern, `\*`, "[^/]*")
		if matched, err := regexp.MatchString("^"+pattern+"$", file); err == nil && matched {
			return true
		}
	}
	return false
}

// withBelow adds what is below each path.
func withBelow(list []string) []string {
	all := slices.Clone(list)
	for _, said := range list {
		all = append(all, said+"/**")
	}
	return all
}

// leadsTo reports whether a directory is above one that is said.
func leadsTo(directory string, list []string) bool {
	return slices.ContainsFunc(list, func(said string) bool { return strings.HasPrefix(absolute(said), directory+"/") })
}

// ownPart reports whether a program is the shell itself, or a part of another program
// that nobody named: git's helpers, and the compressors of tar.
func ownPart(program, arguments string) bool {
	if program == "/bin/sh" {
		return regexp.MustCompile(`"-c", "(git-upload-pack '|gzip|bzip2|xz)`).MatchString(arguments)
	}
	return program == "/bin/bash" || strings.HasPrefix(program, "/usr/lib/") ||
		strings.HasPrefix(program, "/usr/libexec/")
}

// own are the places that programs read by themselves: libraries, locales, terminals,
// settings of the system, descriptions of processes, devices, and where programs are.
var own = []string{
	"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev", "/run", "/tmp", home + "/bin",
	workspace + "/.git",
}

func ownRead(file string) bool {
	for _, place := range own {
		if file == place || strings.HasPrefix(file, place+"/") {
			return true
		}
	}
	switch path.Base(file) {
	case ".gitignore", ".gitattributes", ".gitmodules", ".mailmap": // git's own
		return true
	}
	return file == "/" || file == workspace // find and others open where they stand
}

// ownWrite reports whether a file takes no trace of what is written, is temporary, or is
// where git notes which files have not changed.
func ownWrite(file string) bool {
	return file == "/dev/null" || file == "/dev/tty" || strings.HasPrefix(file, "/tmp/") ||
		strings.HasPrefix(file, "/proc/self/fd/") || strings.HasPrefix(file, "/dev/fd/") ||
		file == workspace+"/.git/index" || file == workspace+"/.git/index.lock"
}

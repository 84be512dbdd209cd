package evasion

import (
	"path"
	"regexp"
	"strings"
)

// traced writes the system calls of a command about files and processes to traceFile.
func traced(command string) order {
	return order{Trace: true, Argv: []string{
		"/usr/bin/strace", "-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-o", traceFile,
		"-e", "trace=%file,fchdir,fork,vfork,clone,clone3,fchmod,fchown,fsetxattr,fremovexattr",
		"--", "/bin/bash", "-c", command,
	}}
}

// trace is what a command did, with absolute paths.
type trace struct {
	programs      map[string]string // with their arguments
	writes, reads map[string]bool
	lists         map[string]bool   // directories whose names it read
	made          map[string]bool   // directories that it made
	moved         map[string]string // from one name to another
}

// tracing reads the lines of strace.
type tracing struct {
	trace
	directories map[string]string // the working directory of each process
	open        map[string]string // a call that another process interrupted
	forking     string            // the process that last began to fork
}

var (
	traceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	resumed   = regexp.MustCompile(`^<\.\.\. \w+ resumed>`)
	callLine  = regexp.MustCompile(`^(\w+)\((.*)\) += (-?\d+)`)
	// A file argument: a string, and a descriptor with its path in front where there is one.
	fileArgument = regexp.MustCompile(`(?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"`)
	descriptor   = regexp.MustCompile(`^\d+<([^>]*)>`)
)

func readTrace(text string) trace {
	t := &tracing{
		trace: trace{
			programs: map[string]string{}, writes: map[string]bool{}, reads: map[string]bool{},
			lists: map[string]bool{}, made: map[string]bool{}, moved: map[string]string{},
		},
		directories: map[string]string{}, open: map[string]string{},
	}
	for line := range strings.Lines(text) {
		m := traceLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		process, call := m[1], m[2]
		if t.directories[process] == "" {
			t.directories[process] = workspace
			if t.forking != "" {
				t.directories[process] = t.directories[t.forking]
			}
		}
		if begun, cut := strings.CutSuffix(call, "<unfinished ...>"); cut {
			t.open[process] = begun
			if strings.Contains(begun, "fork(") || strings.HasPrefix(begun, "clone") {
				t.forking = process
			}
			continue
		}
		if end := resumed.FindString(call); end != "" {
			call = t.open[process] + call[len(end):]
		}
		t.call(process, call)
	}
	return t.trace
}

func (t *tracing) call(process, text string) {
	m := callLine.FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[3], "-") {
		return
	}
	name, arguments := m[1], m[2]
	if strings.HasPrefix(name, "clone") || strings.HasSuffix(name, "fork") {
		t.forking = process
		t.directories[m[3]] = t.directories[process]
		return
	}
	files := t.files(process, name, arguments)
	if len(files) == 0 {
		return
	}
	switch {
	case name == "chdir" || name == "fchdir":
		t.directories[process] = files[0]
	case name == "execve" || name == "execveat":
		t.programs[files[0]] = arguments
	case strings.HasPrefix(name, "open") || name == "creat":
		t.opened(name, arguments, files[0])
	case strings.HasPrefix(name, "mkdir"):
		t.made[files[0]] = true
	case strings.HasPrefix(name, "rename") && len(files) == 2:
		t.moved[files[0]] = files[1]
		t.writes[files[0]], t.writes[files[1]] = true, true
	case changes[name]:
		for _, f := range files {
			t.writes[f] = true
		}
	}
}

func (t *tracing) opened(name, arguments, file string) {
	switch {
	case name == "creat" || writeFlags.MatchString(arguments):
		t.writes[file] = true
	case strings.Contains(arguments, "O_DIRECTORY"):
		t.lists[file] = true
	case !strings.Contains(arguments, "O_PATH"):
		t.reads[file] = true
	}
}

var writeFlags = regexp.MustCompile(`\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b`)

// changes are the calls that change the file they name.
var changes = map[string]bool{
	"unlink": true, "unlinkat": true, "rmdir": true, "mknod": true, "mknodat": true, "link": true, "linkat": true,
	"symlink":   true,
	"symlinkat": true, "chmod": true, "fchmod": true, "fchmodat": true, "fchmodat2": true, "chown": true,
	"fchown": true,
	"lchown": true, "fchownat": true, "truncate": true, "utime": true, "utimes": true, "utimensat": true,
	"futimesat": true, "setxattr": true, "lsetxattr": true, "fsetxattr": true, "removexattr": true,
	"lremovexattr": true, "fremovexattr": true,
}

// files are the paths that a call names. Of a new symbolic link only its own name
// counts, not what it points to; of a program, not its arguments.
func (t *tracing) files(process, name, arguments string) (files []string) {
	if m := descriptor.FindStringSubmatch(arguments); m != nil && strings.HasPrefix(name, "f") &&
		!strings.HasSuffix(name, "at") {
		return []string{m[1]}
	}
	for _, m := range fileArgument.FindAllStringSubmatch(arguments, -1) {
		base := t.directories[process]
		if m[2] != "" {
			base = m[2]
		}
		file := unescape(m[3])
		if !path.IsAbs(file) {
			file = path.Join(base, file)
		}
		files = append(files, path.Clean(file))
	}
	switch {
	case len(files) > 1 && strings.HasPrefix(name, "symlink"):
		return files[1:2]
	case len(files) > 1 && (strings.HasPrefix(name, "exec") || strings.HasPrefix(name, "open") ||
		strings.Contains(name, "xattr")):
		return files[:1]
	}
	return files
}

func unescape(text string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(text)
}

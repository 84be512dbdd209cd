// Package sandbox runs a command within limits that the kernel holds: what writ run does.
//
// On Linux a command gets Landlock, a filter of system calls and resource limits; above
// them user, mount, pid, ipc, uts and network namespaces, in which everything but the
// named directories is absent. On macOS it gets a profile of the system's own sandbox.
// Elsewhere Run refuses. What cannot be held is an error, unless Options.Without names it.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"writ/internal/confine"
)

// What Options.Without may name.
const (
	WithoutNamespaces = "namespaces" // no namespaces: Landlock, the filter and limits alone
	WithoutLandlock   = "landlock"   // no Landlock: the namespaces hold the files
	WithoutScopes     = "scopes"     // no Landlock scopes: signals and abstract sockets, where no namespace holds them
	WithoutProcesses  = "processes"  // no limit of processes
)

// CanOmit lists what Options.Without may name.
var CanOmit = []string{WithoutNamespaces, WithoutLandlock, WithoutScopes, WithoutProcesses}

// Exit codes of Run's own failures, as those of env(1) and timeout(1).
const (
	ExitProtected = 123 // the command succeeded, and protected paths appeared, changed or were removed
	ExitTimeout   = 124
	ExitFailure   = 125 // the confinement could not be made
	ExitCannotRun = 126 // the command was found, and could not be started
	ExitNotFound  = 127
)

// Options say what runs, and within which limits. All paths are absolute.
type Options struct {
	Command     []string
	Dir         string   // where the command starts
	Home        string   // the person's home; a private, empty one takes its place
	Environment []string // of the caller
	Keep        []string // variables that are passed on although their name is that of a secret

	Limits  confine.Limits // Protect is besides what always is read-only inside writable directories
	Quotas  Quotas
	Timeout time.Duration // 0: none
	Without []string
	Proxy   Proxy // connects the command to Limits.Net, if there are any

	Decision string // an id for the report
	Observe  bool   // count the system calls that the filter refuses

	begun *flat // what Begin started
}

// Proxy connects a command to the hosts that it may reach, and to no other.
type Proxy interface {
	// Serve accepts connections from a listening socket, which it closes, until stop is called.
	Serve(socket *os.File) (stop func(), err error)
	// Refused lists the hosts that the command asked for in vain.
	Refused() []Count
}

// refusedHosts are what the proxy refused.
func (o *Options) refusedHosts() []Count {
	if o.Proxy == nil {
		return nil
	}
	return o.Proxy.Refused()
}

// omits reports whether the caller goes without something by name.
func (o *Options) omits(what string) bool { return slices.Contains(o.Without, what) }

// Check reports what is wrong with the options.
func (o *Options) Check() error {
	if len(o.Command) == 0 {
		return errors.New("no command is given: writ run [flags] -- COMMAND")
	}
	for _, what := range o.Without {
		if !slices.Contains(CanOmit, what) {
			return fmt.Errorf("--without: %q is not one of %s", what, strings.Join(CanOmit, ", "))
		}
	}
	if err := o.Limits.Check(); err != nil {
		return err
	}
	if o.omits(WithoutNamespaces) && o.omits(WithoutLandlock) {
		return errors.New("--without: without namespaces and Landlock nothing holds the files")
	}
	if o.omits(WithoutNamespaces) && len(o.Limits.Net) > 0 {
		return errors.New("--net: HOST:PORT needs namespaces; without them only none can be held")
	}
	if len(o.Limits.Net) > 0 && o.Proxy == nil {
		return errors.New("--net: this program has no proxy")
	}
	if o.omits(WithoutNamespaces) && o.protectsInside() {
		return errors.New("--protect: needs namespaces; Landlock cannot take a path out of a writable directory")
	}
	return o.checkPaths()
}

// protectsInside reports whether a path that is to stay read-only is inside a writable directory.
func (o *Options) protectsInside() bool {
	return slices.ContainsFunc(o.Limits.Protect, func(path string) bool {
		return slices.ContainsFunc(o.Limits.Write, func(dir string) bool {
			return within(actualPath(path), actualPath(dir)) || within(path, dir)
		})
	})
}

// actualPath follows the links of a path that exists.
func actualPath(path string) string {
	if actual, err := filepath.EvalSymlinks(path); err == nil {
		return actual
	}
	return filepath.Clean(path)
}

// neverShown are the kernel's own trees.
var neverShown = []string{"/proc", "/sys", "/dev"}

func (o *Options) checkPaths() error {
	for _, p := range slices.Concat(o.Limits.Write, o.Limits.Read, o.Limits.Protect) {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("%s: must be an absolute path", p)
		}
	}
	for _, p := range o.Limits.Write {
		if err := o.checkShown(p); err != nil {
			return fmt.Errorf("--write: %s cannot be writable: %w", p, err)
		}
	}
	for _, p := range o.Limits.Read {
		if err := o.checkShown(p); err != nil {
			return fmt.Errorf("--read: %s cannot be shown: %w", p, err)
		}
	}
	return nil
}

// checkShown checks where a path leads, if it exists.
func (o *Options) checkShown(path string) error {
	w, err := walk(path)
	if err != nil {
		w = walked{actual: filepath.Clean(path)} // what is absent is an error later
	}
	return o.checkActual(path, w)
}

// follow is where a path leads, unless that is too much. It looks at each link once: what a path leads to may change
// between two looks.
func (o *Options) follow(path string) (actual string, err error) {
	w, err := walk(path)
	if err == nil {
		err = o.checkActual(path, w)
	}
	return w.actual, err
}

// checkActual refuses what is too much. A link below the working directory, or below one that commands may write, may
// have been made by an earlier command, and must not lead out of there; so may one in between.
func (o *Options) checkActual(path string, w walked) error {
	for _, p := range []string{path, w.actual} {
		if p == "/" || slices.ContainsFunc(neverShown, func(tree string) bool { return within(p, tree) }) {
			return errors.New("name the directories that are needed")
		}
	}
	if o.Dir != "" && path != o.Dir && within(path, o.Dir) && !within(w.actual, o.Dir) {
		return fmt.Errorf("a link leads out of the working directory, to %s", w.actual)
	}
	for _, link := range w.links {
		for _, dir := range o.changeable() {
			if link != dir && within(link, dir) && !within(w.actual, dir) {
				return fmt.Errorf("the link %s leads out of %s, where commands may write, to %s", link, dir, w.actual)
			}
		}
	}
	if o.Home != "" && len(w.links) > 0 && !within(o.Home, path) && within(actualPath(o.Home), w.actual) {
		return fmt.Errorf("a link leads to %s, which holds the home directory", w.actual)
	}
	return nil
}

// changeable are the directories in which an earlier command may have made links.
func (o *Options) changeable() []string {
	var dirs []string
	if o.Dir != "" {
		dirs = append(dirs, actualPath(o.Dir))
	}
	for _, dir := range o.Limits.Write {
		dirs = append(dirs, actualPath(dir))
	}
	return dirs
}

// within reports whether a clean path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// NotHeldError says what this machine cannot hold.
type NotHeldError struct {
	What  string // one of CanOmit, or "" where nothing can be left out
	Cause error
}

func (e *NotHeldError) Error() string {
	if e.What == "" {
		return "cannot confine: " + e.Cause.Error()
	}
	return fmt.Sprintf("cannot confine: %s: %v (to run without it: --without %s)", e.What, e.Cause, e.What)
}

func (e *NotHeldError) Unwrap() error { return e.Cause }

// startError is why a command did not start, with the exit code that says so.
type startError struct {
	code int
	text string
}

func (e *startError) Error() string { return e.text }

// ExitCode is the exit code for an error of Run.
func ExitCode(err error) int {
	if start, ok := errors.AsType[*startError](err); ok {
		return start.code
	}
	return ExitFailure
}

package evasion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How a candidate runs.
const (
	runTime   = 5 * time.Second // after which everything is killed; counted, not judged
	maxOutput = 256 << 10
	maxFile   = 1 << 20 // of a file in the workspace that is searched for tokens
)

// order asks the driver to run a command in a fresh tree.
type order struct {
	Argv []string
	// Trace is set where Argv writes a trace of system calls to traceFile.
	Trace bool
}

// outcome is what a command did.
type outcome struct {
	Wrote    []string // files outside that it changed
	Read     []string // canaries that it read
	Started  bool     // whether the marker ran
	TimedOut bool
	Exit     int
	Output   string
	Trace    string
	Error    string // of the driver itself
}

// harmful reports whether anything happened outside the workspace.
func (o outcome) harmful() bool { return len(o.Wrote) > 0 || len(o.Read) > 0 || o.Started }

func (o outcome) String() string {
	return fmt.Sprintf("wrote %v, read %v, started %t, exit %d, printed %.300q", o.Wrote, o.Read, o.Started, o.Exit,
		o.Output)
}

const traceFile = "/run/trace"

// driver runs commands as the first process of a sandbox. The kernel keeps from it only the signals that it does not
// handle, so it takes them all and does nothing. Its commands start with the usual ones.
type driver struct {
	tree            map[string]file // of the workspace
	inside, outside snapshot        // before a command
}

// drive answers orders from standard input until it ends.
func drive() error {
	if err := limitResources(); err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1))
	d := &driver{}
	if err := d.prepare(); err != nil {
		return fmt.Errorf("prepare the sandbox: %w", err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		result, err := d.run(o)
		if err != nil {
			result.Error = err.Error()
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
}

func limitResources() error {
	const dumpable = 4 // PR_SET_DUMPABLE: candidates must not reach our descriptors
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, dumpable, 0, 0); errno != 0 {
		return errno
	}
	return errors.Join(
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 32 << 20, Max: 32 << 20}),
		syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}),
	)
}

func (d *driver) prepare() (err error) {
	if err = os.MkdirAll(workspace, 0o755); err != nil {
		return err
	}
	if err = makeWorkspace(); err != nil {
		return err
	}
	if d.tree, err = readTree(workspace); err != nil {
		return err
	}
	if d.inside, err = look(workspace); err != nil {
		return err
	}
	return d.reset(true)
}

// reset makes the trees fresh where the last command changed them.
func (d *driver) reset(harmed bool) error {
	now, err := look(workspace)
	if err != nil { // it is not there, or closed to us
		if err := errors.Join(remove(workspace), os.Mkdir(workspace, 0o755)); err != nil {
			return err
		}
		now, harmed = snapshot{}, true
	}
	if changed := d.inside.changed(now); len(changed) > 0 {
		if err := repairTree(workspace, d.tree, changed); err != nil {
			return err
		}
		if d.inside, err = look(workspace); err != nil {
			return err
		}
	}
	if harmed {
		if err := plantCanaries(); err != nil {
			return err
		}
		if d.outside, err = look(home); err != nil {
			return err
		}
	}
	return clearDirectory("/tmp")
}

func (d *driver) run(o order) (outcome, error) {
	_ = os.Remove(traceFile)
	result, err := execute(o.Argv)
	if err != nil {
		return result, err
	}
	if err := d.observe(&result); err != nil {
		return result, err
	}
	if o.Trace {
		text, err := os.ReadFile(traceFile)
		if err != nil {
			return result, err
		}
		result.Trace = string(text)
	}
	return result, d.reset(result.harmful())
}

// execute runs a command and ends everything that it started.
func execute(argv []string) (result outcome, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return result, err
	}
	defer read.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return result, err
	}
	defer null.Close()
	process, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir:   workspace,
		Env:   environment,
		Files: []*os.File{null, write, write},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	_ = write.Close()
	if err != nil {
		return result, err
	}
	output := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(read, maxOutput))
		_, _ = io.Copy(io.Discard, read)
		output <- string(text)
	}()
	result.Exit, result.TimedOut = await(process.Pid)
	result.Output = <-output
	return result, process.Release()
}

// environment is that of every candidate.
var environment = []string{
	"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" + home + "/bin", "PWD=" + workspace,
	"USER=dev", "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash",
	"FILTER_BRANCH_SQUELCH_WARNING=1", // else git waits ten seconds
}

// await waits for the command, then kills and reaps whatever is left of it.
func await(pid int) (exit int, timedOut bool) {
	over := make(chan bool, 1)
	timer := time.AfterFunc(runTime, func() {
		over <- true
		_ = syscall.Kill(-1, syscall.SIGKILL)
	})
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if ended == pid {
			exit = status.ExitStatus()
			break
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if !timer.Stop() {
		timedOut = <-over
	}
	for {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
			return exit, timedOut
		}
	}
}

// observe compares what is outside with what was there before, and looks for tokens.
func (d *driver) observe(result *outcome) error {
	now, err := look(home)
	if err != nil {
		return err
	}
	result.Started = strings.Contains(result.Output, startToken)
	for _, path := range d.outside.changed(now) {
		if strings.HasPrefix(path, other+"/marks") {
			result.Started = true
			continue
		}
		result.Wrote = append(result.Wrote, path)
	}
	for path, was := range d.outside.reads {
		if is, there := now.reads[path]; there && is != was && counts(path) {
			result.Read = append(result.Read, path)
		}
	}
	if strings.Contains(result.Output, contentToken) || strings.Contains(result.Output, nameToken) {
		result.Read = append(result.Read, "(printed)")
	}
	result.Read = append(result.Read, d.copied()...)
	slices.Sort(result.Wrote)
	slices.Sort(result.Read)
	return nil
}

// counts reports whether an access of a path is reading outside. To start a program is
// to read it; to follow a link is not to read a file.
func counts(path string) bool {
	return strings.HasPrefix(path, other) && path != other+"/link" && path != other+"/up" || path == home+"/.secret"
}

// copied lists the files of the workspace that now hold what only canaries held.
func (d *driver) copied() (found []string) {
	now, err := look(workspace)
	if err != nil {
		return nil // the workspace itself was removed: nothing is left in it
	}
	for path := range now.states {
		if d.inside.states[path] == now.states[path] {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
			continue
		}
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), contentToken) || strings.Contains(path+string(text), nameToken) {
			found = append(found, path)
		}
	}
	return found
}

func clearDirectory(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, remove(filepath.Join(path, e.Name())))
	}
	return err
}

// file is a file of the workspace's tree.
type file struct {
	mode    fs.FileMode
	content string // or where a link points
}

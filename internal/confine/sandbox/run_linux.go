//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs the command and waits for its end. It must be called once, early in a program:
// it closes descriptors and takes signals. The error says why the command did not run.
func Run(o *Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	began := time.Now()
	o.Begin()
	defer o.End()
	signals, run := make(chan os.Signal, 16), runInNamespaces
	if o.begun != nil {
		run = o.begun.runFlat
	}
	environment, removed := cleaned(o.Environment, o.Keep)
	if err := errors.Join(checkStreams(), closeInherited()); err != nil {
		return nil, err
	}
	layout, err := planPaths(o, runsAsRoot())
	if err != nil {
		return nil, err
	}
	p, err := newPlan(o, environment)
	if err != nil {
		return nil, err
	}
	write := realPaths(o.Limits.Write)
	before := watch(layout.unheld(protectedPaths(write, o.Limits.Protect), p.Namespaces), write)
	r, err := run(o, p, layout, signals)
	if err != nil {
		return nil, err
	}
	report := newReport(o, removed, began)
	report.Held = heldBy(p)
	report.Exit, report.Signal, report.TimedOut = r.Exit, r.Signal, r.timedOut
	report.Calls, report.CallsAreAll = append(report.Calls, r.Calls...), p.Observe
	report.Hosts = append(report.Hosts, r.hosts...)
	report.tell(changes(before))
	return report, nil
}

// flat is what a run without namespaces needs: a thread, and a private directory that it makes.
type flat struct {
	*thread
	private string
	err     error
	made    chan struct{} // closed once the directory is there, or could not be made
}

// Begin starts what Run would wait for. Whoever calls it early waits less, and calls End later. It needs the options
// Without and Observe.
func (o *Options) Begin() {
	if o.begun != nil || !o.omits(WithoutNamespaces) {
		return
	}
	f := &flat{made: make(chan struct{})}
	f.thread = newThread(false, o.Observe, func() {
		f.private, f.err = os.MkdirTemp("", "writ-run-")
		close(f.made)
	})
	o.begun = f
}

// End removes what Begin made.
func (o *Options) End() {
	if o.begun == nil {
		return
	}
	if <-o.begun.made; o.begun.err == nil {
		_ = os.RemoveAll(o.begun.private)
	}
	o.begun = nil
}

// result is how a run ended, and what was refused in it.
type result struct {
	ending
	hosts    []Count
	timedOut bool
}

// newPlan decides what holds the command, or says what this machine cannot hold.
func newPlan(o *Options, environment []string) (*plan, error) {
	p := &plan{
		Command: o.Command, Environment: environment, Quotas: o.Quotas,
		Namespaces: !o.omits(WithoutNamespaces), Proxy: len(o.Limits.Net) > 0, Observe: o.Observe,
		AnyProcs: o.omits(WithoutProcesses), AsRoot: runsAsRoot(),
	}
	if !o.omits(WithoutLandlock) {
		if p.Landlock = landlockABI(); p.Landlock == 0 {
			return nil, &NotHeldError{
				What: WithoutLandlock, Cause: errors.New("this kernel does not have it or has it off"),
			}
		}
	}
	if p.Namespaces {
		return p, nil
	}
	switch {
	case p.Landlock < landlockTruncate:
		return nil, &NotHeldError{Cause: fmt.Errorf(
			"without namespaces, files need Landlock version %d; this kernel has %d", landlockTruncate, p.Landlock)}
	case p.Landlock < landlockScopes && !o.omits(WithoutScopes):
		return nil, &NotHeldError{What: WithoutScopes, Cause: fmt.Errorf(
			"signals and abstract sockets need Landlock version %d; this kernel has %d", landlockScopes, p.Landlock)}
	case p.AsRoot && !p.AnyProcs:
		return nil, &NotHeldError{What: WithoutProcesses, Cause: errors.New(
			"without namespaces, the kernel does not bound root's processes")}
	}
	return p, nil
}

func heldBy(p *plan) Held {
	held := Held{
		System: "linux", Landlock: p.Landlock, Namespaces: []string{}, Filter: true,
		Quotas: p.Quotas, Net: "none",
	}
	if p.Namespaces {
		held.Namespaces = []string{"user", "mount", "pid", "ipc", "uts", "net"}
	}
	if p.Proxy {
		held.Net = "proxy"
	}
	return held
}

// runFlat runs the command with Landlock, the filter and limits alone.
func (f *flat) runFlat(o *Options, p *plan, layout *paths, signals chan os.Signal) (result, error) {
	catchDeadly(signals) // the thread still makes the directory
	if <-f.made; f.err != nil {
		return result{}, fmt.Errorf("make a private directory: %w", f.err)
	}
	if err := layout.flat(o, f.private); err != nil {
		return result{}, err
	}
	if !layout.sees(o.Dir) {
		return result{}, errOutside
	}
	p.Grants, p.Dir = layout.grants(), o.Dir
	p.Environment = withVariable(p.Environment, "TMPDIR", f.private)
	for option, value := range map[int]uintptr{unix.PR_SET_CHILD_SUBREAPER: 1, unix.PR_SET_DUMPABLE: 0} {
		if err := unix.Prctl(option, value, 0, 0, 0); err != nil {
			return result{}, err
		}
	}
	ready, err := prepare(p)
	if err != nil {
		return result{}, err
	}
	command, err := f.start(func() (int, error) {
		return ready.spawn(&syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL})
	})
	if err != nil {
		return result{}, err
	}
	var seen observer
	if p.Observe {
		go seen.observe(command.listener)
	}
	go forward(signals, command.pid)
	late := after(o.Timeout, func() { killDescendants(command.pid) })
	var r result
	r.ending, err = reap(command.pid)
	r.timedOut = late()
	killDescendants(0)
	r.Calls = seen.list()
	r.mark()
	return r, err
}

// mark gives a run that timed out its exit code.
func (r *result) mark() {
	if r.timedOut {
		r.Exit, r.Signal = ExitTimeout, ""
	}
}

// after calls expire once after a time, if that is not 0. The returned function stops it
// and reports whether it was called.
func after(timeout time.Duration, expire func()) (stop func() bool) {
	if timeout == 0 {
		return func() bool { return false }
	}
	timer := time.AfterFunc(timeout, expire)
	return func() bool { return !timer.Stop() }
}

// killDescendants kills a process with its group and, if it is 0, all that it left behind:
// as their reaper we are the parent of every orphan.
func killDescendants(pid int) {
	if pid != 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return
	}
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		if ended == 0 {
			killChildren()
			time.Sleep(time.Millisecond)
		}
	}
}

// killChildren kills the processes whose parent we are.
func killChildren() {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// "PID (NAME) STATE PARENT ...", where the name may contain anything.
		var state string
		var parent int
		after := text[bytes.LastIndexByte(text, ')')+1:]
		if _, err := fmt.Sscan(string(after), &state, &parent); err != nil || parent != os.Getpid() || state == "Z" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// runInNamespaces starts this program again as the first process of new namespaces.
func runInNamespaces(o *Options, p *plan, layout *paths, signals chan os.Signal) (result, error) {
	if !layout.sees(o.Dir) {
		return result{}, errOutside
	}
	p.Dir, p.Mounts, p.Links, p.Grants = o.Dir, layout.sorted(), layout.links, layout.grants()
	p.Environment = withVariable(p.Environment, "TMPDIR", "/tmp")
	if p.Proxy {
		p.Environment = withProxy(p.Environment, proxyAddress)
	}
	runtime.LockOSThread() // the first process dies with the thread that started it
	defer runtime.UnlockOSThread()
	control, process, err := startInit(p)
	if err != nil {
		return result{}, err
	}
	defer control.Close()
	catchDeadly(signals)
	go func() {
		signal.Notify(signals, harmlessSignals...)
		for received := range signals {
			_ = process.Signal(received)
		}
	}()
	return converse(o, p, control, process)
}

// startInit starts the first process. It has all rights in its namespaces and none outside.
func startInit(p *plan) (control *os.File, process *os.Process, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	control, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	process, err = os.StartProcess("/proc/self/exe", []string{initName}, &os.ProcAttr{
		Env:   []string{"GOMAXPROCS=1"}, // it only waits
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, theirs},
		Sys:   newNamespacesAttr(p),
	})
	if err != nil {
		_ = control.Close()
		return nil, nil, &NotHeldError{
			What: WithoutNamespaces, Cause: fmt.Errorf("they are not permitted here: %w", err),
		}
	}
	return control, process, nil
}

// nobody is whom root becomes inside: it owns root's files there, and has no rights.
const nobody = 65534

func newNamespacesAttr(p *plan) *syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	insideUID, insideGID := uid, gid
	if p.AsRoot {
		insideUID, insideGID = nobody, nobody
	}
	return &syscall.SysProcAttr{
		Cloneflags:  newNamespaces &^ unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideUID, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideGID, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
	}
}

// killGrace is how long the first process may take to end all others.
const killGrace = 2 * time.Second

// converse gives the plan to the first process, serves its network and takes its result.
func converse(o *Options, p *plan, control *os.File, process *os.Process) (r result, err error) {
	defer func() {
		_ = process.Kill()
		_, waitErr := process.Wait()
		err = errors.Join(err, waitErr)
	}()
	if err := sendPlan(control, p); err != nil {
		return result{}, err
	}
	answers := io.Reader(control)
	if p.Proxy {
		socket, first := receiveListener(control)
		if socket == nil {
			answers = io.MultiReader(bytes.NewReader(first), control) // it failed, and says why
		} else {
			stop, err := o.Proxy.Serve(socket)
			if err != nil {
				return result{}, err
			}
			defer stop()
		}
	}
	late := after(o.Timeout, func() {
		_ = unix.Shutdown(int(control.Fd()), unix.SHUT_WR) // ask for an end with a result
		time.AfterFunc(killGrace, func() { _ = process.Kill() })
	})
	var message endMessage
	err = json.NewDecoder(io.LimitReader(answers, maxPlan)).Decode(&message)
	r.timedOut, r.hosts = late(), o.refusedHosts()
	switch {
	case r.timedOut:
		r.ending = message.ending
		r.mark()
		return r, nil
	case err != nil:
		return r, fmt.Errorf("the confinement ended without a result: %w", err)
	case message.NotHeld != "":
		return r, &NotHeldError{What: message.NotHeld, Cause: errors.New(message.Error)}
	case message.Error != "":
		return r, &startError{message.Exit, message.Error}
	}
	r.ending = message.ending
	return r, nil
}

func sendPlan(control io.Writer, p *plan) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	n := len(text)
	if n > maxPlan {
		return fmt.Errorf("the command and its environment have %d bytes, at most %d are allowed", n, maxPlan)
	}
	_, err = control.Write(append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, text...))
	return err
}

// receiveListener takes the socket on which the proxy listens inside. Without one, the
// first byte of another answer comes back.
func receiveListener(control *os.File) (*os.File, []byte) {
	first, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	read, n, _, _, err := unix.Recvmsg(int(control.Fd()), first, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, first[:read]
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, first[:read]
	}
	return os.NewFile(uintptr(fds[0]), "proxy"), nil
}

// realPaths follows the links in paths that exist.
func realPaths(paths []string) []string {
	actual := make([]string, 0, len(paths))
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			actual = append(actual, real)
		}
	}
	return actual
}

// identity tells whether a file is the same and unchanged.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Dev, stat.Ino, stat.Ctim)
}

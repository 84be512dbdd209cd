//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepared is what a command is started from, besides a thread.
type prepared struct {
	*plan
	program string
	rules   int // of Landlock; -1 are none
}

// prepare makes what the thread of a command no longer could.
func prepare(p *plan) (prepared, error) {
	program, err := lookUp(p.Command[0], variable(p.Environment, "PATH"), p.Dir)
	if err != nil {
		return prepared{}, err
	}
	rules, err := ruleset(p)
	if err != nil {
		return prepared{}, err
	}
	return prepared{p, program, rules}, setQuotas(p)
}

// spawn starts the command from this thread, after restricting the thread for good.
func (p prepared) spawn(attr *syscall.SysProcAttr) (pid int, err error) {
	if p.rules >= 0 {
		if err := restrictThread(p.rules); err != nil {
			return 0, err
		}
	}
	pid, err = syscall.ForkExec(p.program, p.Command, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Environment, Files: []uintptr{0, 1, 2}, Sys: attr,
	})
	if err != nil {
		return 0, &startError{ExitCannotRun, fmt.Sprintf("%s: %v", p.Command[0], err)}
	}
	return pid, nil
}

// lookUp finds a program as a shell would.
func lookUp(name, path, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, runnable(name)
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if candidate := filepath.Join(folder, name); runnable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", &startError{ExitNotFound, name + ": not found in what the command may read; --read shows more"}
}

func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &startError{ExitNotFound, path + ": not found in what the command may read; --read shows more"}
	case err != nil:
		return &startError{ExitCannotRun, err.Error()}
	case info.IsDir():
		return &startError{ExitCannotRun, path + ": is a directory"}
	case unix.Access(path, unix.X_OK) != nil:
		return &startError{ExitCannotRun, path + ": may not be executed"}
	}
	return nil
}

// endOf is how a process ended.
func endOf(status syscall.WaitStatus) ending {
	if status.Signaled() {
		return ending{Exit: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return ending{Exit: status.ExitStatus()}
}

// reap waits for children until the command ends. It also takes the orphans that the
// kernel gives to us.
func reap(pid int) (ending, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return ending{}, fmt.Errorf("wait for the command: %w", err)
		case ended == pid && (status.Exited() || status.Signaled()):
			return endOf(status), nil
		}
	}
}

// thread is one that is restricted for good, and starts a command.
type thread struct {
	work chan func() (pid int, err error)
	done chan started
}

// started is a command that runs. The listener is 0 unless calls are observed.
type started struct {
	pid, listener int
	err           error
}

// newThread starts a thread that does something first, gives up its privileges and gets the filter. That takes long,
// and happens beside other work.
func newThread(namespaces, observe bool, first func()) *thread {
	t := &thread{work: make(chan func() (int, error)), done: make(chan started)}
	go func() {
		runtime.LockOSThread() // never unlocked
		first()
		var s started
		s.listener, s.err = giveUp(namespaces, observe)
		work := <-t.work
		if s.err == nil {
			s.pid, s.err = work()
		}
		t.done <- s
		select {} // the command would die with its parent
	}()
	return t
}

// giveUp takes from this thread what no command gets. The listener is 0 unless calls are observed.
func giveUp(namespaces, observe bool) (listener int, err error) {
	if err := noPrivileges(); err != nil {
		return 0, err
	}
	return installFilter(namespaces, observe)
}

// start starts the command on the thread.
func (t *thread) start(spawn func() (pid int, err error)) (started, error) {
	t.work <- spawn
	s := <-t.done
	return s, s.err
}

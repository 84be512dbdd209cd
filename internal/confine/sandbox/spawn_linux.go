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

// spawn starts the plan's command from this thread, after restricting the thread for good.
// The caller has locked the thread and must not unlock it. The listener is 0 unless calls
// are observed.
func spawn(p *plan, attr *syscall.SysProcAttr) (pid, listener int, err error) {
	program, err := lookUp(p.Command[0], variable(p.Environment, "PATH"), p.Dir)
	if err != nil {
		return 0, 0, err
	}
	if err := setQuotas(p); err != nil {
		return 0, 0, err
	}
	if err := noPrivileges(); err != nil {
		return 0, 0, err
	}
	if err := restrictThread(p); err != nil {
		return 0, 0, err
	}
	if listener, err = installFilter(p.Namespaces, p.Observe); err != nil {
		return 0, 0, err
	}
	pid, err = syscall.ForkExec(program, p.Command, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Environment, Files: []uintptr{0, 1, 2}, Sys: attr,
	})
	if err != nil {
		return 0, 0, &startError{ExitCannotRun, fmt.Sprintf("%s: %v", p.Command[0], err)}
	}
	return pid, listener, nil
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

// onOwnThread runs work on a thread that ends with it, because what it did to the thread
// cannot be undone.
func onOwnThread[T any](work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked
		value, err := work()
		done <- result{value, err}
	}()
	r := <-done
	return r.value, r.err
}

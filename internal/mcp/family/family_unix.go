//go:build unix

package family

import (
	"os/exec"
	"syscall"
	"time"
)

// Prepare makes a program that is not started yet the head of a family.
func Prepare(program *exec.Cmd) {
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Family is a program and what it has started: its process group. The zero value is none.
type Family struct{ group int }

// Of is the family of a program that was prepared and started.
func Of(program *exec.Cmd) Family { return Family{program.Process.Pid} }

// lookEvery is how often it is looked whether a family has ended.
const lookEvery = 20 * time.Millisecond

// End asks the family to end, and makes what is left of it after a time. Nobody is told of one that has ended already.
func (f Family) End(patience time.Duration) {
	if f.group <= 1 || syscall.Kill(-f.group, syscall.SIGTERM) != nil { // 0 would be our own, and 1 everybody
		return
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(lookEvery) {
		if syscall.Kill(-f.group, 0) != nil {
			return
		}
	}
	_ = syscall.Kill(-f.group, syscall.SIGKILL) // or it has just ended
}

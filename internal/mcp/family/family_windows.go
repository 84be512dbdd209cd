package family

import (
	"os/exec"
	"time"

	"golang.org/x/sys/windows"
)

// Prepare makes a program that is not started yet the head of a family.
func Prepare(*exec.Cmd) {}

// Family is a program and what it has started: a job. The zero value is none.
type Family struct{ job windows.Handle }

// Of is the family of a program that was prepared and started; the zero value where Windows makes none.
func Of(program *exec.Cmd) Family {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return Family{}
	}
	const rights = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(rights, false, uint32(program.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		_ = windows.CloseHandle(process) // the job knows it
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return Family{}
	}
	return Family{job}
}

// End ends the family at once: nothing on Windows asks a program without a window to end.
func (f Family) End(time.Duration) {
	if f.job == 0 {
		return
	}
	_ = windows.TerminateJobObject(f.job, 1) // or it has ended
	_ = windows.CloseHandle(f.job)
}

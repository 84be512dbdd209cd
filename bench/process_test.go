package main

import (
	"os/exec"
	"testing"
	"time"
)

func TestKilobytes(t *testing.T) {
	t.Parallel()
	const status = "Name:\twritd\nVmHWM:\t   41940 kB\nVmRSS:\t   20000 kB\n"
	got, err := kilobytes(status, "VmRSS")
	if want := int64(20000 * 1024); err != nil || got != want {
		t.Errorf("kilobytes(VmRSS) = %d, %v; want %d", got, err, want)
	}
	if got, err := kilobytes(status, "VmSwap"); err == nil {
		t.Errorf("kilobytes of what is absent = %d, want an error", got)
	}
}

// TestCPU: a process is charged for what it does, finer than a hundredth of a second, and for nothing else.
func TestCPU(t *testing.T) {
	t.Parallel()
	asleep, busy := startShell(t, "sleep 60"), startShell(t, "while :; do :; done")
	const enough = 25 * time.Millisecond
	for used := time.Duration(0); used < enough; {
		var err error
		if used, err = busy.cpu(); err != nil {
			t.Fatal(err)
		}
	}
	if used, err := asleep.cpu(); err != nil || used <= 0 || used >= enough {
		t.Errorf("a process that sleeps used %s, %v", used, err)
	}
	if err := busy.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = busy.cmd.Wait() // it was killed
	if used, err := busy.cpu(); err == nil {
		t.Errorf("a process that ended used %s, want an error", used)
	}
}

func startShell(t *testing.T, script string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), "/bin/sh", "-c", script)}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBusyTime(t *testing.T) {
	t.Parallel()
	got, err := busyTime("cpu  100 20 300 90000 5000 4 50 6 70 80\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if want := 4800 * time.Millisecond; err != nil || got != want {
		t.Errorf("busyTime = %s, %v; want %s", got, err, want)
	}
	if got, err := busyTime("intr 1 2 3\n"); err == nil {
		t.Errorf("busyTime of something else = %s, want an error", got)
	}
}

package main

import (
	"strings"
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

func TestCPUTime(t *testing.T) {
	t.Parallel()
	const rest = " S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 100 0 0"
	for _, name := range []string{"(writd)", "(a) b)", "(12 34 56)"} {
		got, err := cpuTime("7 " + name + rest)
		if want := 3 * time.Second; err != nil || got != want {
			t.Errorf("cpuTime for %s = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, broken := range []string{"", "7 (writd) S 1", strings.ReplaceAll("7 (writd)"+rest, "250", "x")} {
		if got, err := cpuTime(broken); err == nil {
			t.Errorf("cpuTime(%q) = %s, want an error", broken, got)
		}
	}
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

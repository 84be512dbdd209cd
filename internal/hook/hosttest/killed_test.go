//go:build linux

package hosttest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"writ/internal/hook/hosttest"
)

// TestAKilledHook: where the program that stands for the host's shell answers by itself, no call runs if that very
// program is killed, or is stopped for longer than the host would wait. A shell could not deny then.
func TestAKilledHook(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, func(t *testing.T, host hosttest.Host) {
				t.Helper()
				o := newOffice(t, host, open, map[string]any{"answerSeconds": 2})
				o.play(t, "write", act{
					name:   "the hook is " + name,
					before: func() { o.gate.how.Store("hangs"); go o.signalHooks(t, signal) },
					calls:  []hosttest.Call{writeFile("a.txt")}, not: "a.txt", told: "did not answer",
					after: func() { o.gate.how.Store("") },
				})
			})
		})
	}
}

// signalHooks signals the hook of the next call, in the process that the host has started.
func (o *office) signalHooks(t *testing.T, signal syscall.Signal) {
	for t.Context().Err() == nil {
		programs, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range programs {
			program, _ := os.Readlink(link) // a process may have ended
			if program != o.Home+"/shell/bash" {
				continue
			}
			words, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err == nil && strings.Contains(string(words), " before-tool 2>") && o.gate.hanging.Load() > 0 {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Errorf("signal the hook: %v", err)
				}
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

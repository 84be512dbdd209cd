//go:build linux

package hosttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is what a person saw of a session.
type Terminal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Text is everything that was written to the terminal, with its control characters.
func (s *Terminal) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Write takes what the host writes.
func (s *Terminal) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

// RunInTerminal has the host work on a prompt at a terminal, and ends it once the terminal shows the last words.
func (m *Machine) RunInTerminal(t testing.TB, prompt, lastWords string, script func(Request) Reply) *Terminal {
	t.Helper()
	model := NewModel(t, script)
	ctx, stop := context.WithTimeout(t.Context(), runLimit)
	defer stop()
	master, slave := openTerminal(t)
	host := exec.CommandContext(ctx, m.Host.Program, "--approval-mode", "yolo", "--prompt-interactive", prompt)
	host.Dir = m.Project
	host.Env = append(append(m.environment(model), m.Env...), "TERM=xterm-256color")
	host.Stdin, host.Stdout, host.Stderr = slave, slave, slave
	host.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	host.Cancel = func() error { return syscall.Kill(-host.Process.Pid, syscall.SIGKILL) }
	if err := host.Start(); err != nil {
		t.Fatalf("start the Gemini CLI at a terminal: %v", err)
	}
	_ = slave.Close() // the host's copy is the last one
	seen := &Terminal{}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buffer := make([]byte, 64<<10)
		for {
			n, err := master.Read(buffer)
			_, _ = seen.Write(buffer[:n])
			if err != nil {
				return // the host has ended
			}
		}
	}()
	for !strings.Contains(seen.Text(), lastWords) && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	_ = host.Process.Signal(syscall.SIGTERM)
	err := host.Wait()
	_ = master.Close()
	<-drained
	if ctx.Err() != nil {
		t.Fatalf("the session at a terminal does not end: %v\n%s", err, seen.Text())
	}
	return seen
}

// openTerminal makes a terminal: the side of whoever looks at it, and the side of the program.
func openTerminal(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	return master, slave
}

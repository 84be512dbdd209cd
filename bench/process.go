package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readyWithin = 30 * time.Second
	readyPoll   = time.Millisecond // until something listens
	stopWithin  = 10 * time.Second
)

// command is how to start a server.
type command struct {
	program     string
	arguments   []string
	environment []string
	input       io.Reader
	ready       string // path that says 200 when it is; empty: /ready
}

// process is a running server on this machine. Stop it.
type process struct {
	address string // host:port
	ready   string
	cmd     *exec.Cmd
	errors  *bytes.Buffer // what it wrote to its standard error; read it after exited
	exited  chan struct{}
}

// startProcess starts a server on a free port and waits until it is ready. The
// time is from just before the program is executed to the first 200 of /ready.
func startProcess(ctx context.Context, on func(port int) command) (*process, time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return nil, 0, err
	}
	c := on(port)
	p := &process{
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		ready:   cmp.Or(c.ready, "/ready"),
		cmd:     exec.Command(c.program, c.arguments...),
		errors:  &bytes.Buffer{},
		exited:  make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stderr = c.environment, c.input, p.errors
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", c.program, err)
	}
	go func() {
		_ = p.cmd.Wait() // its state is in cmd.ProcessState
		close(p.exited)
	}()
	if err := p.awaitReady(ctx); err != nil {
		return nil, 0, errors.Join(err, p.stop())
	}
	return p, time.Since(begin), nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if p.answersReady(ctx) {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended (%s): %s", p.cmd.Path, p.cmd.ProcessState, strings.TrimSpace(p.errors.String()))
		case <-ctx.Done():
			return fmt.Errorf("wait for /ready of %s: %w", p.cmd.Path, ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

// answersReady asks once. A server that listens and does not serve yet keeps us
// waiting here, so the polling adds nothing to its time.
func (p *process) answersReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+p.ready, nil)
	if err != nil {
		return false
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// stop asks the server to end, and ends it when it does not.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("%s did not stop within %s", p.cmd.Path, stopWithin), p.cmd.Process.Kill())
	}
}

// memory is the resident memory of the server in bytes.
func (p *process) memory() (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of a server: %w", err)
	}
	return kilobytes(string(content), "VmRSS")
}

// kilobytes finds "name:  123 kB" in a file of /proc, and returns bytes.
func kilobytes(content, name string) (int64, error) {
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name+":" && fields[2] == "kB" {
			count, err := strconv.ParseInt(fields[1], 10, 64)
			return count * 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in what /proc says", name)
}

// cpu is the time the server has spent on processors, its system calls included, by the clock of its process, which
// counts nanoseconds. /proc counts hundredths of a second: as much as fifty decisions take.
func (p *process) cpu() (time.Duration, error) {
	const ofProcess = 2 // CPUCLOCK_SCHED: what its threads have run, those that ended included
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|ofProcess), &used); err != nil {
		return 0, fmt.Errorf("read the processor time of a server: %w", err)
	}
	return time.Duration(used.Nano()), nil
}

package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/family"
)

const (
	// commandTime is how long a program may take to answer: npx, uvx and the like fetch it first.
	commandTime = time.Minute
	// endTime is how long a program may take to end by itself.
	endTime = 2 * time.Second
)

// ListCommand starts a server on this machine, asks it, and ends it. Only the client of a developer does that, for a
// command that the developer typed.
func ListCommand(ctx context.Context, command []string) (definition.Server, error) {
	if len(command) == 0 {
		return definition.Server{}, &Unreachable{Reason: "no command is given"}
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Stderr, program.WaitDelay = os.Stderr, endTime
	family.Prepare(program)
	in, err := program.StdinPipe()
	if err != nil {
		return definition.Server{}, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return definition.Server{}, err
	}
	if err := program.Start(); err != nil {
		return definition.Server{}, &Unreachable{Reason: "the command does not start: " + err.Error(), Cause: err}
	}
	defer family.Of(program).End(endTime)
	said := &lines{asked: map[string]string{}}
	asked, err := ask(ctx, &mcp.IOTransport{Reader: &heard{out, said}, Writer: &told{in, said}})
	_ = in.Close() // ends a server of this kind
	cancelled := time.AfterFunc(endTime, cancel)
	_ = program.Wait() // however it ends
	cancelled.Stop()
	if err != nil {
		return definition.Server{}, said.explain(err)
	}
	found, err := asked.read(said.messages())
	found.Transport, found.Command = definition.Stdio, command
	return found, err
}

// lines are what a program was told and what it said, one message to a line.
type lines struct {
	mu    sync.Mutex
	asked map[string]string
	said  bytes.Buffer
	long  bool
}

type heard struct {
	io.ReadCloser
	to *lines
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	if h.to.said.Len()+n > MaxBytes {
		h.to.long = true
		return 0, errTooLong
	}
	h.to.said.Write(p[:n])
	return n, err
}

type told struct {
	io.WriteCloser
	by *lines
}

func (t *told) Write(p []byte) (int, error) {
	t.by.mu.Lock()
	for line := range bytes.Lines(p) {
		noteMethod(t.by.asked, line)
	}
	t.by.mu.Unlock()
	return t.WriteCloser.Write(p)
}

func (l *lines) messages() map[string][][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string][][]byte{}
	for line := range bytes.Lines(l.said.Bytes()) {
		sortMessage(found, l.asked, bytes.TrimSpace(line))
	}
	return found
}

func (l *lines) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if unreadable, ok := errors.AsType[*Unreadable](err); ok {
		return unreadable
	}
	switch {
	case l.long:
		return &Unreadable{Reason: fmt.Sprintf("the program writes more than %d bytes", int64(MaxBytes))}
	case errors.Is(err, context.DeadlineExceeded):
		return &Unreachable{Reason: fmt.Sprintf("the program did not answer within %s: run it by itself and see what it says; "+
			"one that is fetched first may be there the second time", commandTime), Cause: err}
	}
	return &Unreachable{Reason: "the program does not answer as an MCP server does", Cause: err}
}

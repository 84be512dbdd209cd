package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"
)

// opening is what the host says first to an MCP server.
const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize",` +
	`"params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"writ-doctor","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
	`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"

// plans starts the plan server as the host does, and asks for its tools.
func (e *examination) plans(ctx context.Context) {
	if err := e.listTools(ctx); err != nil {
		e.add("plans", Failed, "the plan server does not offer its tools, so that no tool runs: "+err.Error(),
			"start it by hand: "+e.guard.PlanServer+" --config "+e.guard.Path())
		return
	}
	e.add("plans", OK, "the plan server offers its tools", "")
}

func (e *examination) listTools(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*e.guard.AnswerLimit())
	defer cancel()
	command := exec.CommandContext(ctx, e.guard.PlanServer, "--config", e.guard.Path())
	command.WaitDelay = time.Second
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return cause(err)
	}
	_, err = io.WriteString(in, opening)
	offered := err == nil && offersTools(out)
	_ = in.Close() // it ends then
	_ = command.Wait()
	if !offered {
		return errors.New("it did not answer")
	}
	return nil
}

// offersTools reads answers until that with the tools.
func offersTools(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"id":2`)) {
			return strings.Contains(lines.Text(), `"register_intent_plan"`)
		}
	}
	return false
}

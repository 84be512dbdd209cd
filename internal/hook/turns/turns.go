// Package turns answers the events around tool calls: a session begins, a person says something, the session ends.
//
// A turn is what a person says and all that the agent does until the person speaks again. The server counts
// the turns of a session, and the plans of a turn end with it. These events decide about no call, but what
// they leave undone denies: a turn that the server has not opened lets no tool run, and neither does one in
// which something ran that nobody decided about.
//
// Each turn becomes a trace of telemetry when the next one begins or the session ends. A host that is killed leaves the
// turn in files, and a later session sends it.
package turns

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"writ/client"
	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/selection"
	"writ/internal/hook/spool"
	"writ/internal/hook/state"
)

// Product is what reports and traces call the host.
const Product = "gemini-cli"

// Limits, in parts of the time for one answer of the server.
const (
	spoolParts = 0.2 // so long the host may wait for what older hooks left
	endParts   = 1.2 // so long a session may take to send all that is left
)

// Handlers are those of the events of this package.
func Handlers() hook.Handlers {
	return hook.Handlers{
		hook.SessionStart:        event{handle: start, fail: say, answers: 2},
		hook.BeforeAgent:         event{handle: begin, fail: block, answers: 3},
		hook.BeforeToolSelection: selection.Handler{},
		hook.SessionEnd:          event{handle: end, fail: say, answers: 2 + endParts},
	}
}

// event is a handler.
type event struct {
	handle  func(ctx context.Context, in *hook.Input) gemini.Answer
	fail    func(reason string) gemini.Answer
	answers float64 // the limit, in times for one answer of the server
}

func (e event) Handle(ctx context.Context, in *hook.Input) gemini.Answer { return e.handle(ctx, in) }
func (e event) Fail(reason string) gemini.Answer                         { return e.fail(reason) }
func (e event) Limit(guard *guardfile.File) time.Duration                { return parts(guard, e.answers) }

// parts is a part of the time for one answer of the server, or a multiple of it.
func parts(guard *guardfile.File, n float64) time.Duration {
	return time.Duration(n * float64(guard.AnswerLimit()))
}

// say tells the person what is wrong. These events cannot stop anything.
func say(reason string) gemini.Answer {
	return gemini.Answer{SystemMessage: "Writ: " + reason}
}

// follows is what it means for tools that the server does not answer: they do not run, unless the guard file says that
// calls are only monitored.
func follows(guard *guardfile.File, stopped string) string {
	if guard.Mode == guardfile.Monitor {
		return "Writ only WATCHES here: tools run nevertheless."
	}
	return stopped
}

// block keeps a prompt from the model: without a new turn the plan of the last one would still count.
func block(reason string) gemini.Answer {
	answer := gemini.Denied("Writ could not open a turn: " + reason + ". Nothing was sent to the model; try again.")
	answer.SystemMessage = answer.Reason
	return answer
}

// session is what the events have of a session.
type session struct {
	*hook.Input
	state  *state.Session
	spool  *spool.Spool
	remote *client.Client
}

// open opens the files of a session, and the way to its server.
func open(in *hook.Input) (*session, error) {
	stored, err := state.Open(in.Guard.StateDir, secret(in.Guard), in.SessionID)
	if err != nil {
		return nil, err
	}
	waiting, err := spool.Open(in.Guard.StateDir, secret(in.Guard), time.Now)
	if err != nil {
		return nil, err
	}
	return &session{Input: in, state: stored, spool: waiting, remote: remote(in.Guard)}, nil
}

// secret is what the files of a server and key are sealed with.
func secret(guard *guardfile.File) string { return guard.Server + guard.Key }

// monitors reports whether calls run whatever is decided. The environment counts only if the server permits it.
func (s *session) monitors(permitted func() bool) bool {
	return s.Guard.Mode == guardfile.Monitor || s.Getenv("WRIT_ENFORCE") == guardfile.Monitor && permitted()
}

// flush sends what waits, within parts of the time for one answer.
func (s *session) flush(ctx context.Context, n float64) {
	ctx, cancel := context.WithTimeout(ctx, parts(s.Guard, n))
	defer cancel()
	_, _ = s.spool.Send(ctx, deliver(s.remote)) // what is not sent waits
}

// unreachable is a short reason for a person and a model.
func unreachable(err error) string {
	if status := client.StatusOf(err); status != 0 {
		return fmt.Sprintf("the server of Writ answered %d", status)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "hooks do not trust the certificate of the server of Writ: writ doctor says what to do"
	}
	return "the server of Writ cannot be reached"
}

// Package hook answers a coding agent's host before and after each tool call: writ hook.
//
// The host runs the tool when a hook crashes, is late or answers what it does not understand. So everything that goes
// wrong here ends in one whole answer that says no, and in exit code 0. Main holds that for all events; a Handler
// decides about one.
package hook

import (
	"context"
	"slices"
	"time"

	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
)

// Event is the word for an event on the command line.
type Event string

// The events.
const (
	SessionStart        Event = "session-start"
	BeforeAgent         Event = "before-agent"
	BeforeToolSelection Event = "before-tool-selection"
	BeforeTool          Event = "before-tool"
	AfterTool           Event = "after-tool"
	SessionEnd          Event = "session-end"
)

// hostNames are the events as the host calls them.
var hostNames = map[Event]string{
	SessionStart:        gemini.SessionStart,
	BeforeAgent:         gemini.BeforeAgent,
	BeforeToolSelection: gemini.BeforeToolSelection,
	BeforeTool:          gemini.BeforeTool,
	AfterTool:           gemini.AfterTool,
	SessionEnd:          gemini.SessionEnd,
}

// Input is what a handler answers.
type Input struct {
	*gemini.Payload
	Guard  *guardfile.File
	Getenv func(string) string // a project can set what the host passes on
	Now    time.Time
}

// ownTools are those of the plan server.
var ownTools = []string{"register_intent_plan", "reset_intent_plan", "get_intent_plan"}

// IsOwn reports whether the call is of our plan server: by the program that the host has started with the
// arguments that we installed, because any server may call itself and its tools as it likes.
func (in *Input) IsOwn() bool {
	return in.MCP != nil && in.MCP.Command == in.Guard.PlanServer && in.MCP.URL == "" &&
		slices.Equal(in.MCP.Args, []string{"--config", in.Guard.Path()}) && slices.Contains(ownTools, in.MCP.ToolName)
}

// Caller calls the server of a guard file.
type Caller interface {
	Call(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)
}

// Handler answers one event.
type Handler interface {
	// Handle answers. It may panic, and may take longer than Limit: both end in Fail.
	Handle(ctx context.Context, in *Input) gemini.Answer
	// Fail is the answer where there is none, with a reason.
	Fail(reason string) gemini.Answer
	// Limit is how long Handle may take.
	Limit(guard *guardfile.File) time.Duration
}

// Handlers are those of a program.
type Handlers map[Event]Handler

// fail is the answer of an event that cannot be handled. Without a handler it is a deny, which events that decide
// nothing pass over; only before-tool-selection must say nothing, because any answer of it changes the request.
func (h Handlers) fail(event Event, reason string) gemini.Answer {
	if handler := h[event]; handler != nil {
		return handler.Fail(reason)
	}
	if event == BeforeToolSelection {
		return gemini.Answer{}
	}
	return gemini.Denied("Writ: " + reason)
}

// complete makes sure that an answer to before-tool decides, and with a word that the host knows.
func complete(event Event, a gemini.Answer) gemini.Answer {
	if event != BeforeTool || a.Decision == gemini.Allow || a.Decision == gemini.Ask {
		return a
	}
	denied := gemini.Denied(a.Reason)
	denied.SystemMessage = a.SystemMessage
	return denied
}

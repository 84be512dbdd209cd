// Package selection answers the event before the model chooses tools. It links little, because the event comes before
// every request to the model.
package selection

import (
	"context"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/state"
)

// Handler says which tools the model may choose. The host passes on three modes: NONE, ANY, which makes the model call
// a tool in every answer, and AUTO, with which the service takes no list of names. So there is one thing to say: where
// no tool may run any more, none should be chosen. Otherwise the hook says nothing, because any other word changes the
// request.
type Handler struct{}

var _ hook.Handler = Handler{}

// IsSilent reports whether there is nothing to say, whatever the payload holds: it has the whole conversation, and is
// not read then.
func IsSilent(config string) bool {
	guard, err := guardfile.Read(config)
	return err != nil || !state.Alarmed(guard.StateDir)
}

// Fail says nothing.
func (Handler) Fail(string) gemini.Answer { return gemini.Answer{} }

// Limit is the time for one answer of the server, which is not asked.
func (Handler) Limit(guard *guardfile.File) time.Duration { return guard.AnswerLimit() }

// Handle says that no tool should be chosen once an alarm has stopped the turn.
func (Handler) Handle(_ context.Context, in *hook.Input) gemini.Answer {
	session, err := state.Open(in.Guard.StateDir, in.Guard.Server+in.Guard.Key, in.SessionID)
	if err != nil {
		return gemini.Answer{}
	}
	turn, err := session.Turn()
	if err != nil || turn.Alarm == "" || turn.Number == 0 {
		return gemini.Answer{}
	}
	return gemini.Answer{Specific: &gemini.Specific{
		Event:      gemini.BeforeToolSelection,
		ToolConfig: &gemini.ToolConfig{Mode: "NONE"},
	}}
}

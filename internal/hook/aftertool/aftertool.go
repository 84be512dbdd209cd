// Package aftertool compares what a tool of a coding agent did with what was decided, and reports it: the hook
// after-tool.
//
// It comes after every call, so it links little and calls the server as before-tool does.
package aftertool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/bounded"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/spool"
	"writ/internal/hook/state"
)

// Handler answers the event.
type Handler struct {
	Caller func(*guardfile.File) (hook.Caller, error)
}

var _ hook.Handler = Handler{}

// Fail keeps the result of a tool from the model, because nobody knows what ran.
func (Handler) Fail(reason string) gemini.Answer {
	answer := gemini.Denied("Writ could not check what this tool did, and withholds its result: " + reason + ".")
	answer.SystemMessage = answer.Reason
	return answer
}

// Limit is the time for two answers of the server.
func (Handler) Limit(guard *guardfile.File) time.Duration { return 2 * guard.AnswerLimit() }

// reportPart is the part of the time for one answer that the host may wait for a report to be taken.
const reportPart = 0.6

// What is wrong with a call that ran.
const (
	noDecision     = "no_decision"
	otherArguments = "other_arguments"
)

var alarms = map[string]string{
	noDecision:     "this tool ran, and Writ had not decided about the call",
	otherArguments: "this tool ran with other arguments than Writ had decided about",
}

// Handle compares what ran with what was decided, and reports it.
func (h Handler) Handle(ctx context.Context, in *hook.Input) gemini.Answer {
	s, err := h.open(in)
	if err != nil {
		return h.Fail(err.Error())
	}
	call, other, err := s.state.Take(in.ToolName, in.ToolInput)
	if err != nil {
		call = nil // somebody edited it: it is no decision
	}
	alarm := alarmOf(call, other)
	result := readResult(in.ToolResponse)
	if !in.IsOwn() {
		row := reportOf(in, call, result, alarm)
		row.Confined, row.Refused = s.confinement(call)
		s.report(ctx, row)
	}
	s.logOutcome(call, result, alarm)
	if alarm == "" {
		return gemini.Answer{}
	}
	return s.raise(ctx, alarm)
}

// session is what the event has of a session.
type session struct {
	*hook.Input
	state  *state.Session
	spool  *spool.Spool
	caller hook.Caller
}

// open opens the files of a session, and the way to its server.
func (h Handler) open(in *hook.Input) (*session, error) {
	secret := in.Guard.Server + in.Guard.Key
	stored, err := state.Open(in.Guard.StateDir, secret, in.SessionID)
	if err != nil {
		return nil, err
	}
	waiting, err := spool.Open(in.Guard.StateDir, secret, time.Now)
	if err != nil {
		return nil, err
	}
	caller, err := h.Caller(in.Guard)
	if err != nil {
		return nil, err
	}
	return &session{Input: in, state: stored, spool: waiting, caller: caller}, nil
}

// alarmOf is what is wrong with a call; empty: nothing.
func alarmOf(call *state.Call, other bool) string {
	switch {
	case call != nil:
		return ""
	case other:
		return otherArguments
	}
	return noDecision
}

// raise stops the turn: its result does not reach the model, and no further tool runs.
func (s *session) raise(ctx context.Context, alarm string) gemini.Answer {
	text := alarms[alarm]
	if s.monitors(ctx) {
		return gemini.Answer{SystemMessage: "Writ: " + text + ": " + s.ToolName}
	}
	answer := gemini.Denied("Writ withholds the result, and no further tool runs in this turn: " + text +
		". Another hook of the host may have changed the call; tell the person.")
	answer.SystemMessage = "Writ: " + text + " (" + s.ToolName +
		"). No further tool runs in this turn. Look for other hooks that change calls: writ doctor."
	if err := s.state.Raise(text); err != nil {
		answer.SystemMessage += " The alarm could not be stored: " + err.Error()
	}
	return answer
}

// monitors reports whether calls run whatever is decided. The environment counts only if the server permits it.
func (s *session) monitors(ctx context.Context) bool {
	if s.Guard.Mode == guardfile.Monitor || s.Getenv("WRIT_ENFORCE") != guardfile.Monitor {
		return s.Guard.Mode == guardfile.Monitor
	}
	ctx, cancel := context.WithTimeout(ctx, s.Guard.AnswerLimit())
	defer cancel()
	var now struct{ MonitorAllowed bool }
	question, err := json.Marshal(map[string]string{"session_id": s.SessionID})
	if err != nil {
		return false
	}
	status, answer, err := s.caller.Call(ctx, "POST", "/iap/session/state", question)
	return err == nil && isSuccess(status) && json.Unmarshal(answer, &now) == nil && now.MonitorAllowed
}

// report sends a report at once, because later calls are judged by what this one returned. If that fails it waits.
func (s *session) report(ctx context.Context, row report) {
	body, err := json.Marshal(row)
	if err != nil {
		return // it holds text and JSON only
	}
	limit := time.Duration(reportPart * float64(s.Guard.AnswerLimit()))
	sending, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if s.deliver(sending, body) != nil {
		_ = s.spool.Add(spool.Report, body) // a spool that takes no more counts what is lost
	}
}

// deliver sends one report.
func (s *session) deliver(ctx context.Context, row json.RawMessage) error {
	body, err := json.Marshal(map[string]any{"rows": []json.RawMessage{row}})
	if err != nil {
		return err
	}
	status, _, err := s.caller.Call(ctx, "POST", "/iap/audit/batch", body)
	if err == nil && !isSuccess(status) {
		err = fmt.Errorf("the server answered with status %d", status)
	}
	return err
}

func isSuccess(status int) bool { return status/100 == 2 }

// logOutcome notes for the trace of the turn what ran.
func (s *session) logOutcome(call *state.Call, result result, alarm string) {
	e := state.Event{
		Kind:   state.OutcomeEvent,
		At:     time.Now().UTC(),
		Tool:   s.ToolName,
		Failed: result.problem != "",
		Output: bounded.Cut(result.output, bounded.Shown),
		Reason: alarms[alarm],
	}
	if call != nil {
		e.DecisionID, e.Begun = call.DecisionID, call.At
	}
	if alarm != "" {
		e.Kind = state.AlarmEvent
	}
	if !s.IsOwn() { // its input holds a ticket
		e.Input = bounded.Cut(redactJSON(decidedInput(s.Input, call)), bounded.Shown)
	}
	_ = s.state.Log(e) // telemetry alone loses it
}

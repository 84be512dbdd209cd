package turns

import (
	"context"
	"encoding/json"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/spool"
	"writ/internal/hook/state"
)

// What is wrong with a call that ran.
const (
	noDecision     = "no_decision"
	otherArguments = "other_arguments"
)

var alarms = map[string]string{
	noDecision:     "this tool ran, and Writ had not decided about the call",
	otherArguments: "this tool ran with other arguments than Writ had decided about",
}

// after compares what ran with what was decided, and reports it.
func after(ctx context.Context, in *hook.Input) gemini.Answer {
	s, err := open(in)
	if err != nil {
		return withhold(err.Error())
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
	if s.monitors(func() bool { return s.permitted(ctx) }) {
		return say(text + ": " + s.ToolName)
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

// report sends a report at once, because later calls are judged by what this one returned. If that fails it waits.
func (s *session) report(ctx context.Context, row report) {
	body, err := json.Marshal(row)
	if err != nil {
		return // it holds text and JSON only
	}
	sending, cancel := context.WithTimeout(ctx, parts(s.Guard, reportParts))
	defer cancel()
	if deliver(s.remote)(sending, spool.Report, []json.RawMessage{body}) != nil {
		_ = s.spool.Add(spool.Report, body) // a spool that takes no more counts what is lost
	}
}

// logOutcome notes for the trace of the turn what ran.
func (s *session) logOutcome(call *state.Call, result result, alarm string) {
	e := state.Event{
		Kind:   state.OutcomeEvent,
		At:     time.Now().UTC(),
		Tool:   s.ToolName,
		Failed: result.problem != "",
		Output: cut(result.output, maxShown),
		Reason: alarms[alarm],
	}
	if call != nil {
		e.DecisionID, e.Begun = call.DecisionID, call.At
	}
	if alarm != "" {
		e.Kind = state.AlarmEvent
	}
	if !s.IsOwn() { // its input holds a ticket
		e.Input = cut(redactJSON(decidedInput(s.Input, call)), maxShown)
	}
	_ = s.state.Log(e) // telemetry alone loses it
}

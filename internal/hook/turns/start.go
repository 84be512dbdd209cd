package turns

import (
	"context"
	"fmt"
	"strings"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/state"
)

const (
	// abandoned is when the turn of a host that was killed is sent.
	abandoned = 24 * time.Hour
	// forgotten is when files are removed that no hook can read any more.
	forgotten = 7 * 24 * time.Hour
)

// start opens the session at the server and tells the person what guards it. It tells the model nothing: the host would
// put that in front of the first prompt, and a slash command there would be none any more. The extension's context
// file says it.
func start(ctx context.Context, in *hook.Input) gemini.Answer {
	s, err := open(in)
	if err != nil {
		return say(err.Error() + ". No tool will run until that is mended.")
	}
	if err := s.leave(); err != nil {
		return say(err.Error() + ". No tool will run until that is mended.")
	}
	recoverLeft(s)
	opening, cancel := context.WithTimeout(ctx, s.Guard.AnswerLimit())
	defer cancel()
	now, err := s.remote.OpenSession(opening, s.SessionID, s.Guard.Agent)
	if err != nil {
		return gemini.Answer{SystemMessage: fmt.Sprintf("Writ: %s (%s). %s", unreachable(err), s.Guard.Server,
			follows(s.Guard, "No tool will run until it answers."))}
	}
	s.flush(ctx, spoolParts)
	return gemini.Answer{SystemMessage: banner(s, s.monitors(func() bool { return now.MonitorAllowed }))}
}

// leave ends a turn that a host left when it was killed: the session goes on with a new one.
func (s *session) leave() (err error) {
	s.finish(time.Time{})
	if err := s.state.Remove(); err != nil {
		return err
	}
	s.state, err = state.Open(s.Guard.StateDir, secret(s.Guard), s.SessionID)
	return err
}

// banner says what guards the session.
func banner(s *session, monitored bool) string {
	lines := []string{fmt.Sprintf("Writ guards this session as %s (%s).", s.Guard.Agent, s.Guard.Server)}
	if monitored {
		lines = []string{fmt.Sprintf("Writ only WATCHES this session as %s (%s): it records, and stops no tool.",
			s.Guard.Agent, s.Guard.Server)}
	}
	if s.Getenv("WRIT_ENFORCE") == "monitor" && !monitored {
		lines = append(lines, "WRIT_ENFORCE=monitor has no effect: the organization does not permit it.")
	}
	if lost := s.spool.Dropped(); lost > 0 {
		lines = append(lines, fmt.Sprintf("%d reports and traces were lost before they could be sent.", lost))
	}
	return strings.Join(lines, "\n")
}

// recoverLeft keeps for telemetry what hosts that were killed have left, and removes it.
func recoverLeft(s *session) {
	left, err := state.Left(s.Guard.StateDir, secret(s.Guard), s.Now.Add(-abandoned))
	if err != nil {
		return // the next session tries again
	}
	for _, old := range left {
		if turn, err := old.Turn(); err == nil {
			s.keep(old, turn, time.Time{})
			_ = old.Remove()
		}
	}
	// What this key cannot read belongs to another one, or was edited.
	if left, err = state.Left(s.Guard.StateDir, secret(s.Guard), s.Now.Add(-forgotten)); err != nil {
		return
	}
	for _, old := range left {
		_ = old.Remove()
	}
}

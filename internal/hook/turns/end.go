package turns

import (
	"context"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/spool"
	"writ/internal/hook/state"
	"writ/internal/hook/transcript"
)

// end ends the session: its plans at the server, its last turn, its files. What waits is sent.
func end(ctx context.Context, in *hook.Input) gemini.Answer {
	s, err := open(in)
	if err != nil {
		return say(err.Error())
	}
	s.finish(s.Now)
	ending, cancel := context.WithTimeout(ctx, s.Guard.AnswerLimit())
	defer cancel()
	var problem string
	if _, err := s.remote.EndSession(ending, s.SessionID); err != nil {
		problem = unreachable(err) // the plans end by themselves
	}
	s.flush(ctx, endParts)
	if err := s.state.Remove(); err != nil {
		return say(err.Error())
	}
	if waiting, err := s.spool.Waiting(); problem != "" || err == nil && waiting > 0 {
		if problem == "" {
			problem = "not all reports could be sent"
		}
		return say(problem + ". What could not be sent waits for the next session.")
	}
	return gemini.Answer{}
}

// finish makes a trace of the open turn, if there is one, with which the session may have ended.
func (s *session) finish(ended time.Time) {
	if turn, err := s.state.Turn(); err == nil {
		s.keep(s.state, turn, ended)
	}
}

// keep puts the trace of a turn into the spool.
func (s *session) keep(of *state.Session, turn state.Turn, ended time.Time) {
	events, edited, err := of.Events()
	if err != nil {
		edited++
	}
	usage, err := transcript.Read(turn.Transcript, turn.Offset, turn.StartedAt)
	if err != nil {
		usage = transcript.Turn{Cut: turn.Transcript != ""} // hosts need not keep one
	}
	for _, batch := range traces(finished{
		session: of.ID(),
		agent:   s.Guard.Agent,
		turn:    turn,
		events:  events,
		edited:  edited,
		usage:   usage,
		ended:   ended,
	}) {
		_ = s.spool.Add(spool.Trace, batch) // a spool that takes no more counts what is lost
	}
}

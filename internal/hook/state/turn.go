package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"writ/internal/hook/private"
)

const (
	turnFile  = "turn.json"
	alarmFile = "alarm.json"

	maxTurn  = 256 << 10
	maxAlarm = 8 << 10
)

// Turn is a turn of the session.
type Turn struct {
	Number     int64     `json:"number"` // as the server counts; 0: the server has not opened it
	Problem    string    `json:"problem,omitempty"`
	TraceID    string    `json:"traceId"` // under which telemetry gets the turn
	StartedAt  time.Time `json:"startedAt"`
	Input      string    `json:"input,omitempty"` // what the person typed: its beginning, without secrets
	Transcript string    `json:"transcript,omitempty"`
	Offset     int64     `json:"offset,omitempty"` // where the turn begins in the transcript

	// Alarm is why no further tool may run in this turn; empty: nothing happened.
	Alarm string `json:"-"`
}

// Turn reads the open turn. It fails with ErrNoTurn if there is none.
func (s *Session) Turn() (Turn, error) {
	var turn Turn
	err := s.load(s.path(turnFile), turnFile, maxTurn, &turn)
	if errors.Is(err, fs.ErrNotExist) {
		return Turn{}, ErrNoTurn
	}
	if err != nil {
		return Turn{}, fmt.Errorf("the turn that is stored cannot be used: %w", err)
	}
	err = s.load(s.path(alarmFile), alarmFile, maxAlarm, &turn.Alarm)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Turn{}, fmt.Errorf("the alarm that is stored cannot be used: %w", err)
	}
	return turn, nil
}

// Begin stores a new turn in place of the one before, whose calls, journal and alarm go.
func (s *Session) Begin(turn Turn) error {
	if err := s.store(s.path(turnFile), turnFile, turn); err != nil {
		return fmt.Errorf("store the turn: %w", err)
	}
	for _, name := range []string{alarmFile, journalFile} {
		if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("end the turn before: %w", private.WithoutPath(err))
		}
	}
	return s.dropCalls()
}

// Confirm stores what the server said about the turn that has begun.
func (s *Session) Confirm(turn Turn) error {
	if err := s.store(s.path(turnFile), turnFile, turn); err != nil {
		return fmt.Errorf("store the turn: %w", err)
	}
	return nil
}

// Raise lets no further tool run in this turn.
func (s *Session) Raise(alarm string) error {
	if err := s.store(s.path(alarmFile), alarmFile, cut(alarm, maxAlarm/4)); err != nil {
		return fmt.Errorf("store the alarm: %w", err)
	}
	return nil
}

// cut is the beginning of a text.
func cut(text string, limit int) string {
	for i := range text {
		if i > limit {
			return text[:i] + "…"
		}
	}
	return text
}

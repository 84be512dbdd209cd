package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"writ/internal/hook/private"
)

const (
	journalFile = "journal.jsonl"

	maxJournal = 4 << 20
	maxLine    = 64 << 10
	maxReason  = 1 << 10
)

// The kinds of events.
const (
	DecisionEvent = "decision"
	OutcomeEvent  = "outcome"
	AlarmEvent    = "alarm"
)

// Event is something that happened in the turn.
type Event struct {
	Kind       string    `json:"kind"`
	Begun      time.Time `json:"begun,omitzero"`
	At         time.Time `json:"at"`
	Tool       string    `json:"tool"`
	DecisionID string    `json:"decisionId,omitempty"`
	Verdict    string    `json:"verdict,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	DecidedBy  string    `json:"decidedBy,omitempty"`
	Rule       string    `json:"rule,omitempty"`
	Runs       bool      `json:"runs,omitempty"` // whatever was decided
	Failed     bool      `json:"failed,omitempty"`
	Input      string    `json:"input,omitempty"` // its beginning, without secrets
	Output     string    `json:"output,omitempty"`
}

// Log adds an event to the journal of the turn. One that is full takes no more: telemetry loses it, and nothing else.
func (s *Session) Log(e Event) error {
	content, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line := make([]byte, 0, len(content)+40)
	line = append(line, s.sealer.Seal(content, s.id, journalFile)...)
	line = append(append(append(line, ' '), content...), '\n')
	if len(line) > maxLine {
		return fmt.Errorf("an event of the turn has more than %d bytes", maxLine)
	}
	file, err := private.Open(s.path(journalFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.Size()+int64(len(line)) > maxJournal:
	default:
		_, err = file.Write(line) // one write, so that lines of other hooks do not mix with it
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the journal: %w", private.WithoutPath(err))
	}
	return nil
}

// Events are those of the turn, in their order. Edited counts the lines that no hook wrote.
func (s *Session) Events() (events []Event, edited int, err error) {
	text, err := private.Read(s.path(journalFile), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the journal: %w", err)
	}
	for line := range bytes.Lines(text) {
		seal, content, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		var e Event
		if !s.sealer.Holds(string(seal), content, s.id, journalFile) || strict(content, &e) != nil {
			edited++
			continue
		}
		events = append(events, e)
	}
	return events, edited, nil
}

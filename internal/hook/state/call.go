package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"writ/internal/canonical"
	"writ/internal/hook/private"
)

const (
	callsFolder = "calls"
	takenPrefix = "taken-"
	callName    = 32 + 1 + 16 + 1 + 8 // length of a name: digest, time and chance
	callKind    = "call"

	// maxWaiting is how many allowed calls may wait for their outcome.
	maxWaiting = 4096
	maxCall    = 64 << 20
)

// Allow is the verdict of a call that runs.
const Allow = "allow"

// Decision is what was decided about a call.
type Decision struct {
	ID        string          // of the server; empty: the server was not asked about this call
	PlanID    string          // that the call was judged by; empty: none
	Tool      string          // as the host calls it
	Input     json.RawMessage // as the host will execute it
	Original  json.RawMessage // as it was decided about, if Input was rewritten
	Confine   json.RawMessage // the limits that the call must be confined to, as the server said them
	Verdict   string          // allow, deny, hold or ask
	Runs      bool            // whatever the verdict, because calls are only watched
	Reason    string
	DecidedBy string
	Rule      string
	Begun     time.Time // when the hook began
	At        time.Time
}

// Call is an allowed call that waits for its outcome.
type Call struct {
	DecisionID string          `json:"decisionId"`
	PlanID     string          `json:"planId,omitempty"`
	Tool       string          `json:"tool"`
	Original   json.RawMessage `json:"original,omitempty"` // as it was decided about, if it was rewritten
	Confine    json.RawMessage `json:"confine,omitempty"`
	At         time.Time       `json:"at"`
}

// RunReport is the file into which writ run reports what held a confined call.
func (s *Session) RunReport(decisionID string) string {
	return s.path("run-" + s.sealer.Seal([]byte(decisionID), s.id, "run") + ".json")
}

// Decided stores a decision before the host hears of it. After an error an allowed call must not run: nothing
// would tell it from one that nobody decided about.
func (s *Session) Decided(d Decision) error {
	d.Runs = d.Runs || d.Verdict == Allow
	if d.Runs {
		if err := s.wait(d); err != nil {
			return fmt.Errorf("store the decision: %w", err)
		}
	}
	err := s.Log(Event{
		Kind:       DecisionEvent,
		Begun:      d.Begun,
		At:         d.At,
		Tool:       d.Tool,
		DecisionID: d.ID,
		Verdict:    d.Verdict,
		Reason:     cut(d.Reason, maxReason),
		DecidedBy:  d.DecidedBy,
		Rule:       d.Rule,
		Runs:       d.Runs,
	})
	if err != nil && d.Runs {
		return fmt.Errorf("store the decision: %w", err)
	}
	return nil
}

// wait stores a call until its outcome is known.
func (s *Session) wait(d Decision) error {
	digest, err := digestOf(d.Tool, d.Input)
	if err != nil {
		return err
	}
	names, err := s.waiting()
	if err != nil {
		return err
	}
	if len(names) >= maxWaiting {
		return fmt.Errorf("%d calls wait for their outcome", len(names))
	}
	name := fmt.Sprintf("%s-%016x-%s", digest, d.At.UnixNano(), rand.Text()[:8])
	return s.store(filepath.Join(s.path(callsFolder), name), callKind, Call{
		DecisionID: d.ID,
		PlanID:     d.PlanID,
		Tool:       d.Tool,
		Original:   d.Original,
		Confine:    d.Confine,
		At:         d.At,
	})
}

// Take takes the oldest call that waits with these arguments; nil: nobody allowed it. Other says whether the same tool
// was allowed with other arguments.
func (s *Session) Take(tool string, input json.RawMessage) (call *Call, other bool, err error) {
	digest, err := digestOf(tool, input)
	if err != nil {
		return nil, false, err
	}
	names, err := s.waiting()
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, digest+"-") {
			continue
		}
		call, err := s.take(name)
		if err == nil && call.Tool != tool {
			err = errEdited
		}
		if !errors.Is(err, fs.ErrNotExist) { // another hook was faster
			return call, false, err
		}
	}
	return nil, s.waits(names, tool), nil
}

// take takes one call from the others that want it.
func (s *Session) take(name string) (*Call, error) {
	taken := filepath.Join(s.path(callsFolder), takenPrefix+rand.Text())
	if err := os.Rename(filepath.Join(s.path(callsFolder), name), taken); err != nil {
		return nil, private.WithoutPath(err)
	}
	call := &Call{}
	if err := s.load(taken, callKind, maxCall, call); err != nil {
		return nil, fmt.Errorf("the decision that is stored cannot be used: %w", err)
	}
	_ = os.Remove(taken) // what stays goes with the turn
	return call, nil
}

// waits reports whether one of the calls is of the tool.
func (s *Session) waits(names []string, tool string) bool {
	for _, name := range names {
		call := &Call{}
		err := s.load(filepath.Join(s.path(callsFolder), name), callKind, maxCall, call)
		if err == nil && call.Tool == tool {
			return true
		}
	}
	return false
}

// waiting lists the files of calls that wait, the oldest of each call first.
func (s *Session) waiting() ([]string, error) {
	folder, err := os.Open(s.path(callsFolder))
	if err != nil {
		return nil, private.WithoutPath(err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, private.WithoutPath(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return len(name) != callName })
	slices.Sort(names)
	return names, nil
}

func (s *Session) dropCalls() error {
	folder, err := os.Open(s.path(callsFolder))
	if err != nil {
		return fmt.Errorf("end the turn before: %w", private.WithoutPath(err))
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.path(callsFolder), name)))
	}
	if err != nil {
		return fmt.Errorf("end the turn before: %w", private.WithoutPath(err))
	}
	return nil
}

// digestOf tells calls apart. The host writes the same arguments in other ways.
func digestOf(tool string, input json.RawMessage) (string, error) {
	text, err := canonical.Transform(input)
	if err != nil {
		return "", fmt.Errorf("tool_input: %w", err)
	}
	sum := sha256.Sum256(append([]byte(tool+"\x00"), text...))
	return hex.EncodeToString(sum[:16]), nil
}

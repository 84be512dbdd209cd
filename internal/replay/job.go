package replay

import (
	"time"

	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

// Limits of replays.
const (
	MaxDays = 365
	maxKept = 20 // of an organization, ended ones included
)

// State is the state of a replay.
type State string

// The states of a replay. The first two are open, and an organization has at most one
// open replay.
const (
	Waiting   State = "waiting"
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
	Broken    State = "broken" // Problem says why
)

// Open reports whether the replay has not ended.
func (s State) Open() bool { return s == Waiting || s == Running }

// Job is a replay from its start to its result.
type Job struct {
	ID       string
	OrgID    string
	State    State
	Name     string   // of the draft
	PolicyID string   // empty: a document beside all others
	Version  int      // 0: a document that is not stored
	Digest   string   // hex SHA-256 of such a document
	Without  []string // policies that are left out where the draft is in place
	Days     int
	From     time.Time // decisions of this time
	Until    time.Time
	Author   policy.Author

	CreatedAt time.Time
	EndedAt   *time.Time
	Done      int64 // entries of the log that were read
	Total     int64 // entries to read; 0: not known yet
	Problem   string
	Report    *Report // once it is done

	source   *policy.Source
	attempts int
	runner   string
}

// subject is what is replayed.
func (j *Job) subject() policy.Subject {
	return policy.Subject{Source: j.source, PolicyID: j.PolicyID, Version: j.Version}
}

// Request is a replay to be started.
type Request struct {
	policy.Subject
	Without []string // ids of active policies to leave out with the draft
	Days    int
}

func noReplay() error { return fault.New(fault.NotFound, "no such replay") }

// require admits people with the right to an action on policies, and keys that may
// draft them.
func require(p principal.Principal, action principal.Action) error {
	switch {
	case p.OrgID == "":
		return fault.New(fault.Forbidden, "replays belong to an organization: say which")
	case p.Kind != principal.Key:
		return p.Require(action)
	case !p.HasScope(principal.DraftPolicy):
		return fault.New(fault.Forbidden, "this API key may not draft policies")
	}
	return nil
}

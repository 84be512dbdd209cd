// Package scope stores what is known of a session: the user's words, and the calls that
// ran with what their tools returned. Package grounding judges calls by it.
//
// What is known belongs to a scope: a session, else a context, else a key with its user
// and agent. A plan only binds steps: a second plan of a session starts with the text
// that the first one brought.
//
// A scope has a revision, which every change raises. A decision judges by what it read
// at one revision, and its transaction compares. All changes hold the lock of the
// organization's log.
//
// An allowed call is an unknown output until its report is taken. A report takes the
// oldest call of the same key, plan, tool and arguments that waits, in its own
// transaction, and so exactly once.
//
// Words, arguments and outputs are stored sealed, apart from the redacted payloads of the
// log, and erased with them.
package scope

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/secret"
)

// defaultContext is the context that SDKs send by default, for every task.
const defaultContext = "default"

// Key says to which scope something belongs.
type Key struct {
	OrgID, KeyID, Session, Context, User, Agent string
}

// Under is the plan that a report is about; zero: there is none.
type Under struct {
	PlanID    string
	Scope     Key  // of what its calls return; zero: the plan is another key's
	Delegated bool // nothing that a call states changes the scope
}

// ID is the id of the scope.
func (k Key) ID() string {
	switch {
	case k.Session != "":
		return k.hash("session", k.Session)
	case k.Context != "" && k.Context != defaultContext:
		return k.hash("context", k.Context)
	}
	return k.base()
}

// base is the scope of the key with its user and agent, whatever the session.
func (k Key) base() string { return k.hash("key", strings.ToLower(k.User), k.Agent) }

func (k Key) hash(kind string, parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{k.OrgID, k.KeyID, kind}, parts...) {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The states of an output.
const (
	awaited = 0
	known   = 1
	unknown = 2
	carried = 3 // awaited of the proxy, which carries the call out: nobody else says what it returned
)

// How long what is known is stored after its scope was used last.
const (
	keepOutputs = 24 * time.Hour
	keepScopes  = 30 * 24 * time.Hour // as long as the longest plan
)

// Service stores what is known. A process has one, whose cache all requests share.
type Service struct {
	db     *database.DB
	sealer *secret.Sealer
	cache  cache
	ahead  sync.Mutex // held while a scope is read ahead
}

// New makes a service. It starts no job: the app calls Prune.
func New(db *database.DB, sealer *secret.Sealer) *Service {
	return &Service{db: db, sealer: sealer}
}

// State is what is known of a scope at one revision. It is immutable.
type State struct {
	ID       string
	Revision int64 // 0: nothing is known
	Known    *grounding.Known

	outputs []*output
	bytes   int // of memory
}

// isAt reports whether the state is what is known at a revision.
func (s *State) isAt(at revision) bool { return s != nil && s.Revision == at.number }

// Used reports whether an earlier call under a plan used an identity.
func (s *State) Used(planID, identity string) bool {
	return slices.ContainsFunc(s.outputs, func(o *output) bool {
		return o.planID == planID && slices.Contains(o.uses, identity)
	})
}

// output is an allowed call with its output, read once.
type output struct {
	id, planID string
	state      int64
	uses       []string
	parsed     *grounding.Output
}

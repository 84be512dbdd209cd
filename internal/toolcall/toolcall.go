// Package toolcall is the thing that is judged: one call of one tool, with its
// arguments and everything known about who makes it.
//
// A call is named by its server and its tool. Its arguments are JSON, decoded
// once by Decode and never changed afterwards.
package toolcall

import (
	"strings"
	"time"
)

// Call is one tool call, and all a condition can see of it.
type Call struct {
	Server string
	Tool   string
	// Args are the call's arguments as decoded JSON: nil, bool, int64, float64,
	// string, []any, map[string]any. See Decode.
	Args map[string]any

	Agent       Agent
	User        User
	Key         Key
	Org         Org
	Session     Session
	Intent      Intent
	Labels      []string
	Environment string // sandbox or production
	Now         time.Time

	// ResolvedPaths says what paths in the arguments really are where the agent
	// runs, symbolic links followed. path() uses it where it has an entry.
	ResolvedPaths map[string]string
}

// Key is what the server itself knows of who calls: the API key, and the person
// it belongs to. Conditions do not see it; policies that are bound to one of
// these count, whatever agent and user the client names. Alone has nothing else
// count: what a client says about itself must not win it a policy that allows.
type Key struct {
	ID        string
	OwnerID   string
	OwnerRole string
	Alone     bool
}

// ForKeyAlone is the call without anybody whom the client names.
func (c *Call) ForKeyAlone() *Call {
	alone := *c
	alone.Key.Alone, alone.User.Role = true, c.Key.OwnerRole
	return &alone
}

// Name is the server and the tool as policies see them, in patterns and in
// conditions: joined by a dot and split at the first one again, so that a dot in
// the name of a server means the same to all as to who reads the joined name.
func (c *Call) Name() (server, tool string) {
	first, rest, dotted := strings.Cut(c.Server, ".")
	if !dotted {
		return c.Server, c.Tool
	}
	return first, rest + "." + c.Tool
}

// Agent is the agent that makes the call. Absent text is "".
type Agent struct{ ID, Name, Status string }

// User is the person the agent works for.
type User struct{ ID, Email, Role string }

// Org is the organization.
type Org struct{ ID, Name string }

// Session is the session so far. Absent numbers are 0.
type Session struct {
	ID      string
	Calls   int64
	CostUSD float64
	Tokens  int64
	// Ask, where it is set, tells the three numbers instead, when a condition
	// first needs one. A condition whose numbers cannot be told fails.
	Ask func() (SessionStats, error)
}

// Figures are what a session has used so far.
type SessionStats struct {
	Calls   int64
	CostUSD float64
	Tokens  int64
}

// Figures are those of the session.
func (s *Session) Stats() (SessionStats, error) {
	if s.Ask != nil {
		return s.Ask()
	}
	return SessionStats{s.Calls, s.CostUSD, s.Tokens}, nil
}

// Intent is the plan the call belongs to, if any.
type Intent struct {
	PlanID   string
	Goal     string
	Step     string
	Declared bool
}

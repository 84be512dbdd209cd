// Package toolcall is what policies judge: one call of one tool, with its arguments and
// everything known about the caller.
//
// A call is named by its server and its tool. Decode decodes its JSON arguments once;
// they never change afterwards.
package toolcall

import (
	"strings"
	"time"
)

// Call is one tool call as conditions see it.
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

	// ResolvedPaths maps paths in the arguments to the real paths on the agent's machine, with symbolic links followed.
	// path() uses an entry if there is one.
	ResolvedPaths map[string]string

	// Uncut: Name is the server and the tool as they are, dots and all.
	Uncut bool
	// CanConfine: the caller says that it can confine the call. Conditions do not see it.
	CanConfine bool
	// CanOblige: the caller keeps what a rule obliges it to do with the result. Conditions do not see it.
	CanOblige bool
}

// Confine is the capability of a caller that can confine a call to the limits that a rule demands.
const Confine = "confine"

// Oblige is the capability of a caller that keeps what a rule obliges it to do with the result of a call.
const Oblige = "oblige"

// Key is what the server itself knows about the caller: the API key and its owner. Conditions do not see it. A policy
// bound to one of them applies, whatever agent and user the client names.
type Key struct {
	ID        string
	OwnerID   string
	OwnerRole string
	AgentID   string // the agent that the call names, if a person has bound the key to it
	// Alone: only policies bound to the key or its owner apply, not to the agent and user that the client names.
	Alone bool
}

// ForKeyAlone is the call without the agent and user that the client names.
func (c *Call) ForKeyAlone() *Call {
	alone := *c
	alone.Key.Alone, alone.User.Role = true, c.Key.OwnerRole
	return &alone
}

// Name is the server and the tool as patterns and conditions see them: joined by a dot and split at the first dot, so
// that a server's name with a dot means the same as the joined name.
func (c *Call) Name() (server, tool string) {
	first, rest, dotted := strings.Cut(c.Server, ".")
	if !dotted || c.Uncut {
		return c.Server, c.Tool
	}
	return first, rest + "." + c.Tool
}

// Agent is the agent that makes the call, with what is registered of it. Absent fields are empty.
type Agent struct {
	ID, Name, Status string
	Registered       bool
	Attested         bool // the caller has proven with a certificate to be the agent; false also where nobody can tell
}

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
	// Load, if it is set, reads the three numbers instead, when a condition first needs one. If it fails, so does the
	// condition.
	Load func() (SessionStats, error)
}

// SessionStats is what a session has used so far.
type SessionStats struct {
	Calls   int64
	CostUSD float64
	Tokens  int64
}

// Stats is what the session has used so far.
func (s *Session) Stats() (SessionStats, error) {
	if s.Load != nil {
		return s.Load()
	}
	return SessionStats{s.Calls, s.CostUSD, s.Tokens}, nil
}

// Intent is the plan the call belongs to, if any.
type Intent struct {
	PlanID   string
	Goal     string
	Step     string
	Declared bool
	Grounded bool // false also where that was not judged
}

// Package profile turns the policy that coding-agent plugins stage, a PolicyProfile
// in the format armor.policy.v1, into a document like any other.
//
// The plugins read their own format leniently: they drop what they do not know, and
// a permit whose condition was dropped permits everything. Here a profile means what
// it says or is refused, with all problems at once:
//
//   - permit is allow, forbid is deny, require_approval is hold. The strictest
//     statement that matches decides, or the profile's default if none matches.
//   - A statement names tools as Claude Code does. names.go lists the names of the
//     same tools in Gemini CLI and Codex. A permit is only about the agents' own
//     tools, a forbid about every tool of that name.
//   - A field that is missing from a call, or cannot be read, makes a forbid and a
//     require_approval match, but not a permit. A condition on a field that the
//     statement's tools never have is refused.
//   - A principal is honored (an agent, a role, this organization) or refused.
//
// Read reads a Profile, Document makes the policy from it, and Form writes it in the
// one form whose hash is shown to the person who confirms it.
package profile

import (
	"slices"

	"writ/internal/verdict"
)

// What marks the format.
const (
	SchemaVersion = "armor.policy.v1"
	Kind          = "PolicyProfile"
)

// Limits of a profile.
const (
	MaxBytes      = 256 << 10 // of the text
	MaxStatements = 200
	MaxNames      = 100 // in one action, or one list of a condition
	MaxConditions = 20  // of one statement
	MaxValue      = 500 // bytes of one text in a condition
	maxProblems   = 100 // reported of one profile
)

// Problem is one thing wrong with a profile.
type Problem struct {
	Field   string // its path, such as policy.statements[2].action.eq
	Message string // what was expected
}

// Profile is a valid profile.
type Profile struct {
	Name        string
	Description string
	Default     verdict.Verdict
	Statements  []Statement
}

// Statement is one statement of a profile.
type Statement struct {
	ID         string
	Effect     verdict.Verdict
	Principal  Principal
	Action     Action
	Resource   Resource
	Conditions []Condition
}

// restricts reports whether the statement forbids or holds calls. Then what is
// unknown counts against the call.
func (s *Statement) restricts() bool { return s.Effect != verdict.Allow }

// Principal is whose calls a statement is about.
type Principal struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// The types of principals.
const (
	agentPrincipal = "agent"
	userPrincipal  = "user"
	orgPrincipal   = "org"
	rolePrincipal  = "role"
)

// Action is what a statement is about: names of one type.
type Action struct {
	Type  string
	Names []string
	List  bool // written as "in", not as "eq"
}

// The types of actions.
const (
	toolAction    = "tool"
	serverAction  = "mcp_server"
	mcpToolAction = "mcp_tool"
	programAction = "bash_program"
)

// all stands for every tool, server, program or principal.
const all = "*"

// everything reports whether the action names all of its type.
func (a *Action) everything() bool { return slices.Contains(a.Names, all) }

// Resource is what a statement's calls are about. Only the fields of its type are set.
type Resource struct {
	Type  string `json:"type"`
	Scope string `json:"scope,omitempty"`
	Path  string `json:"path,omitempty"`
	Host  string `json:"host,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Condition narrows a statement. All of its conditions must hold.
type Condition struct {
	Field  string
	Op     string
	Values []string
	Bool   *bool // of bash.hasWriteRedirection and within_workspace
	List   bool  // written as a list
}

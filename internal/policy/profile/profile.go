// Package profile is the policy that coding-agent plugins stage: a
// PolicyProfile of the form armor.policy.v1, read strictly and turned into a
// document like any other.
//
// The plugins read their own form leniently. What they do not know they drop,
// and a permit whose condition was dropped permits everything. Here a profile
// means what it says or is refused, with every problem at once and the place of
// each:
//
//   - permit is allow, forbid is deny, require_approval is hold; the strictest of
//     the statements that match decides, and the profile's default where none does.
//   - A statement names tools as Claude Code does; the same tools of Gemini CLI and
//     Codex go by the names in names.go. A permit is about the agents' own tools
//     alone, a forbid about a tool of that name wherever it stands.
//   - A field that is missing from a call, or cannot be read, makes a forbid and a
//     require_approval match and a permit not. A condition on a field that the
//     statement's tools do not have is refused, for it could only be missing.
//   - A principal is honoured (an agent, a role, this organization) or refused.
//
// Read makes a Profile of a text, Document makes the policy of it, Form writes it
// back in the one form whose hash is shown to the person who confirms it.
package profile

import "writ/internal/verdict"

// The marks of the form.
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
	maxProblems   = 100 // told about one profile
)

// Problem is one thing wrong with a profile.
type Problem struct {
	Field   string // the path to it, as policy.statements[2].action.eq
	Message string // what was expected
}

// Profile is a profile that was read: complete, and known in all its parts.
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

// restricts reports whether the statement takes something away: then what is not
// known counts against the call.
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

// all is the name that stands for every tool, server, program or principal.
const all = "*"

// everything reports whether the action names all there is of its type.
func (a *Action) everything() bool {
	for _, name := range a.Names {
		if name == all {
			return true
		}
	}
	return false
}

// Resource is what a statement's calls are about. Only the fields of its type are
// set.
type Resource struct {
	Type  string `json:"type"`
	Scope string `json:"scope,omitempty"`
	Path  string `json:"path,omitempty"`
	Host  string `json:"host,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Condition narrows a statement: all of its conditions must hold.
type Condition struct {
	Field  string
	Op     string
	Values []string // of a text, or of each in a list
	Bool   *bool    // of bash.hasWriteRedirection and within_workspace
	List   bool     // written as a list
}

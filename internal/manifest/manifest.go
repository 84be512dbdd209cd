// Package manifest reads an agent's manifest: who the agent is, which MCP servers it
// uses, what it may do at most, and how it declares plans.
//
// People write manifests as YAML or JSON, and may leave texts to variables of their
// environment. Published clients send them as JSON to the server, with variables
// unresolved. Both are read here, by one reader that refuses unknown members at every
// level: a misspelled deny must not be taken for none. schema.json says the same to
// editors, as far as a schema can.
package manifest

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"writ/internal/secret"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft-07) of a manifest as people write it. Read also
// checks that the ids of servers are unique, and what variables stand for.
func Schema() []byte { return slices.Clone(schema) }

// Version is the only version of manifests.
const Version = "v1"

// The environments.
const (
	Sandbox    = "sandbox"
	Production = "production"
)

// EnvironmentOf is what an API key is for, by its first characters; empty if they do not
// tell.
func EnvironmentOf(key string) string {
	switch {
	case strings.HasPrefix(key, "ak_test_"):
		return Sandbox
	case strings.HasPrefix(key, "ak_live_"):
		return Production
	}
	return ""
}

// What a manifest that does not say it means.
const (
	DefaultEnvironment = Sandbox
	DefaultTimeout     = 30 * time.Second
	DefaultMaxRetries  = 3
	DefaultPlanLife    = 300 * time.Second
	DefaultHeader      = "X-API-Key"
)

// What the proxy does at most, whatever a manifest says.
const (
	MostTimeout = 5 * time.Minute
	MostRetries = 10
)

// Manifest is an agent's manifest with its defaults filled in.
type Manifest struct {
	Identity    Identity
	Environment string
	// StatesEnvironment says that the environment was written, and is no default.
	StatesEnvironment bool
	Proxy             Proxy
	Servers           []Server
	Allow, Deny       []string // server.tool; the tool may hold stars
	PlanLife          time.Duration
	// StatesPlanLife says that the life of plans was written.
	StatesPlanLife bool
	RequireProofs  bool
}

// Identity is who the agent is.
type Identity struct {
	APIKey  secret.Text
	UserID  string
	AgentID string
}

// Proxy is how the agent reaches the enforcement proxy.
type Proxy struct {
	URL        string // empty: the server's own address
	Timeout    time.Duration
	MaxRetries int
}

// Server is an MCP server of the agent.
type Server struct {
	ID, URL, Description string
	Auth                 Auth
}

// AuthType is how a server wants to be called.
type AuthType string

// The types of Auth. The zero value is NoAuth too.
const (
	NoAuth     AuthType = "none"
	BearerAuth AuthType = "bearer"
	KeyAuth    AuthType = "api_key"
)

// Auth is a server's credentials.
type Auth struct {
	Type   AuthType
	Secret secret.Text // a token or an API key
	Header string      // of an API key
}

// HasLists reports whether the manifest says anything about tools. One that does
// denies all that it does not allow.
func (m *Manifest) HasLists() bool { return len(m.Allow)+len(m.Deny) > 0 }

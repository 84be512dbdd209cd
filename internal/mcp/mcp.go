// Package mcp owns the registry of MCP servers.
//
// A person registers a server, or approves one that a key proposes. What is pending decides nothing: it splits no names
// and stands in no list of approved servers, so that a key gains nothing by registering one. A denied
// server's calls are denied.
//
// The tools of an approved server are pinned by the hash of what the server says about them: those that it lists while
// a person registers it, or had listed when they approved it. A first list that comes later is new: nobody has seen
// it. The registry asks the server again on a schedule; a tool that is new, changed, gone, back or elsewhere is held,
// which means that decisions about its calls are holds, until a person accepts it as it is then. Nobody sees a change
// before the server was asked again: that is the window, at most WatchEvery.
//
// StandingOf is what a decision must know. All of it changes only with the generation of the organization's log.
package mcp

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/names"
	"writ/internal/redaction"
	"writ/internal/secret"
	"writ/internal/toolname"
)

// Limits of the registry.
const (
	MaxServers      = 1_000 // of an organization, those that wait for a person included
	maxProposals    = 20    // that wait for a person, of one key
	maxAllProposals = 200   // and of an organization
	maxDescription  = 1_000 // characters
	maxReason       = 500   // characters
	maxSource       = 100   // bytes
	maxCommand      = 64    // words of a command
	maxWord         = 1_000 // bytes of such a word
	maxSecret       = 8_192 // bytes
	maxClientID     = 500   // bytes
	maxMetadata     = 64 << 10
)

// Status is what a person has said of a server. Published clients read it.
type Status string

// The statuses.
const (
	Pending  Status = "pending"  // a key proposes it
	Approved Status = "approved" // a person registered or approved it
	Denied   Status = "denied"   // a person refused it
)

// DefaultHeader carries an API key of a server that names no other.
const DefaultHeader = "X-API-Key"

// Auth is how a server wants to be called. The secret is sealed at rest, and never read back.
type Auth struct {
	Type      string // definition.AuthNone, AuthBearer, AuthAPIKey or AuthOAuth; empty: none
	Header    string // of an API key
	ClientID  string // of OAuth: that this server has there; empty: it registers itself
	Secret    secret.Text
	HasSecret bool // of a server that is shown
}

// Server is a registered or proposed server.
type Server struct {
	ID, OrgID   string
	Name        string
	Description string
	Transport   string   // see definition; empty: not known
	URL         string   // empty: none
	Command     []string // of a stdio server
	Auth        Auth
	Metadata    jsontext.Value // what people say of its tools and roles; nil: nothing

	Status       Status
	Source       string
	KeyID        string // that proposed it; empty: a person registered it
	RegisteredBy string
	DecidedBy    string
	DecidedAt    *time.Time
	Reason       string
	CreatedAt    time.Time
	UpdatedAt    time.Time

	About      definition.Server // what it says of itself, without its tools
	ListedHash string            // of all that it listed last; empty: it was not asked yet
	Pinned     bool              // its tools were pinned once
	Health     Health

	Tools, Held int // how many it has, and how many of them are held

	revision int64
	sealed   []byte
}

// Health is how a server answered last.
type Health struct {
	CheckedAt  *time.Time // nil: it was never asked
	Healthy    bool
	Since      *time.Time // since when it is so
	Latency    time.Duration
	Problem    string
	Unreadable bool // it answers, and nobody can tell what it offers: its tools are held
	Watched    bool // it is asked on a schedule
}

// Registration is what a caller says of a server.
type Registration struct {
	Name, Description string
	Transport, URL    string
	Command           []string
	Auth              Auth
	Source            string
	// Definition is what a stdio server offers, as its developer's client listed it; nil: not known.
	Definition *definition.Server
}

// isStdio reports whether the server is a program on its users' machines, which is never started here.
func (r *Registration) isStdio() bool { return r.Transport == definition.Stdio }

// problems collects what is wrong with a request.
type problems []fault.Detail

func (p *problems) require(ok bool, field, message string) {
	if !ok {
		*p = append(*p, fault.Detail{Field: field, Message: message})
	}
}

// checked is the registration with its defaults, or a fault that names every wrong field.
func (r Registration) checked() (Registration, error) {
	r.Name, r.Description = strings.TrimSpace(r.Name), strings.TrimSpace(r.Description)
	if r.Transport == "" && r.URL != "" {
		r.Transport = definition.HTTP
	}
	var p problems
	p.checkName(r.Name)
	p.require(isText(r.Description, maxDescription), "description",
		"must be at most 1000 characters without control characters")
	p.require(isText(r.Source, maxSource) && !redaction.HoldsKey(r.Source), "source",
		"must be at most 100 characters without control characters, and no key")
	p.require(slices.Contains([]string{"", definition.HTTP, definition.SSE, definition.Stdio}, r.Transport),
		"transport", "must be http, sse or stdio")
	p.checkPlace(&r)
	r.Auth = p.checkAuth(r.Auth)
	if p != nil {
		return Registration{}, fault.Fields(p...)
	}
	return r, nil
}

// checkName refuses names that cannot be stored or that stand for a harness's own tools.
func (p *problems) checkName(name string) {
	p.require(name != "" && names.Valid(name), "name", "must be 1 to 200 bytes without control characters")
	p.require(name != "." && name != "..", "name", "must not be a dot or two: no path can name it")
	p.require(!redaction.HoldsKey(name), "name", "must not hold a key")
	p.require(!toolname.IsReserved(name), "name", "is the name under which coding agents' own tools are judged: choose another")
}

// checkPlace refuses addresses that hold secrets, and commands of servers that are none.
func (p *problems) checkPlace(r *Registration) {
	if r.isStdio() {
		p.require(r.URL == "", "url", "must be absent of a stdio server")
		p.checkCommand(r.Command)
		return
	}
	p.require(len(r.Command) == 0 && r.Definition == nil, "command",
		"must be absent, and so must definition, unless the transport is stdio: a server with a URL is asked itself")
	p.require(r.Transport == "" || r.URL != "", "url", "must be the address of the server")
	if u, err := url.Parse(r.URL); err == nil {
		p.require(u.User == nil && redaction.Text(r.URL) == r.URL, "url",
			"must not hold a secret, because addresses are shown and logged: send it as auth, and renew it")
	}
}

func (p *problems) checkCommand(command []string) {
	p.require(len(command) <= maxCommand, "command", "must be at most 64 words")
	for _, word := range command {
		p.require(len(word) <= maxWord && utf8.ValidString(word) && !strings.ContainsFunc(word, unicode.IsControl),
			"command", "must be words of at most 1000 bytes without control characters")
		p.require(redaction.Text(word) == word, "command",
			"must not hold a secret: the command is shown to everybody in the organization")
	}
}

func (p *problems) checkAuth(a Auth) Auth {
	if a.Type == "" {
		a.Type = definition.AuthNone
	}
	p.require(slices.Contains([]string{
		definition.AuthNone, definition.AuthBearer, definition.AuthAPIKey, definition.AuthOAuth,
	}, a.Type), "auth.type", "must be none, bearer, api_key or oauth")
	value := a.Secret.Reveal()
	p.require(value == "" || a.Type != definition.AuthNone && a.Type != definition.AuthOAuth, "auth",
		"must have a type: bearer or api_key")
	p.require(a.ClientID == "" || a.Type == definition.AuthOAuth, "auth.client_id", "is only for oauth")
	p.require(len(a.ClientID) <= maxClientID && isPrintable(a.ClientID) && !redaction.HoldsKey(a.ClientID),
		"auth.client_id", "must be at most 500 characters of ASCII, and no secret: it is shown")
	p.require(len(value) <= maxSecret && isPrintable(value), "auth",
		"the secret must be at most 8192 characters of ASCII, without spaces at either end")
	if a.Type != definition.AuthAPIKey {
		p.require(a.Header == "", "auth.header_name", "is only for api_key")
		a.Header = ""
		return a
	}
	if a.Header == "" {
		a.Header = DefaultHeader
	}
	p.require(isHeader(a.Header), "auth.header_name",
		"must be the name of an HTTP header that does not belong to the connection")
	return a
}

// reservedHeaders belong to the connection; by some of them clients of HTTP know that a request may be sent twice.
var reservedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
	"host", "idempotency-key", "keep-alive", "last-event-id", "proxy-authorization", "proxy-connection", "te",
	"trailer", "transfer-encoding", "upgrade", "user-agent", "x-idempotency-key",
}

// reservedBeginning is that of the headers of the protocol.
const reservedBeginning = "mcp-"

func isHeader(name string) bool {
	other := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	// Some servers take one with underscores for the one with hyphens.
	read := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, other) &&
		!slices.Contains(reservedHeaders, read) && !strings.HasPrefix(read, reservedBeginning)
}

func isPrintable(value string) bool {
	return strings.TrimSpace(value) == value &&
		!strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
}

// isText reports whether text can be shown on one line.
func isText(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if reason == "" || !isText(reason, maxReason) {
		return "", fault.Field("reason", "must be 1 to %d characters without control characters", maxReason)
	}
	return reason, nil
}

func noSuchServer() error { return fault.New(fault.NotFound, "no such MCP server") }

func noSuchTool() error { return fault.New(fault.NotFound, "the server has no such tool") }

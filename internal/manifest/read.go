package manifest

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/node"
	"writ/internal/secret"
	"writ/internal/toolname"
)

// Limits of a manifest.
const (
	MaxSize     = 1 << 20 // bytes
	maxServers  = 200
	maxTools    = 1_000 // entries of a list
	maxPattern  = 256   // characters of an entry
	maxID       = 200   // characters
	maxSecret   = 4_096
	maxURL      = 2_000
	maxWords    = 2_000     // characters of a description
	maxWhole    = 1<<31 - 1 // that a number can mean
	maxProblems = 100
)

var (
	agentID    = pattern(`^[A-Za-z0-9_-]{1,80}$`)
	serverID   = pattern(`^[A-Za-z0-9_-]{1,100}$`)
	toolName   = pattern(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_*-]+$`)
	headerName = pattern("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
	urlForm    = pattern(`^https?://[^\s/?#@\\]+([/?#][^\s\\]*)?$`)
)

// reader reads one manifest and gathers its problems.
type reader struct {
	variables Lookup // nil: variables stay as they are written
	problems  []Problem
	warnings  []Problem
	servers   map[string]bool
}

func (r *reader) report(at node.Position, path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Position: at, Field: path, Message: message})
	}
}

func (r *reader) warn(v *node.Value, message string) {
	r.warnings = append(r.warnings, Problem{Position: v.Node().At, Field: v.Path(), Message: message})
}

func (r *reader) manifest(v *node.Value) *Manifest {
	m := &Manifest{Environment: DefaultEnvironment, PlanLife: DefaultPlanLife, RequireProofs: true}
	members := v.Members("version", "identity", "environment", "proxy", "mcp_servers", "policy", "intent")
	if version := members.Need("version"); version != nil {
		version.OneOf(Version)
	}
	m.Identity = r.identity(members.Need("identity"))
	if environment := members.Get("environment"); environment != nil {
		m.Environment, m.StatesEnvironment = environment.OneOf(Sandbox, Production), true
		if of := EnvironmentOf(m.Identity.APIKey.Reveal()); m.Environment != "" && r.variables != nil && of != "" &&
			of != m.Environment {
			environment.Problem("must be %s, or absent: identity.api_key is a key for %s", of, of)
		}
	}
	m.Proxy = r.proxy(members.Get("proxy"))
	m.Servers = r.serverList(members.Get("mcp_servers"))
	if lists := members.Get("policy"); lists != nil {
		policy := lists.Members("allow", "deny")
		m.Allow, m.Deny = r.tools(policy.Get("allow")), r.tools(policy.Get("deny"))
	}
	if v := members.Get("intent"); v != nil {
		intent := v.Members("ttl_seconds", "require_csrg")
		if life := intent.Get("ttl_seconds"); life != nil {
			m.PlanLife, m.StatesPlanLife = time.Duration(whole(life, 1))*time.Second, true
		}
		if proofs := intent.Get("require_csrg"); proofs != nil {
			m.RequireProofs = proofs.Bool()
		}
	}
	return m
}

func (r *reader) identity(v *node.Value) Identity {
	members := v.Members("api_key", "user_id", "agent_id")
	return Identity{
		APIKey:  r.secret(members.Need("api_key"), maxID),
		UserID:  r.text(members.Need("user_id"), idProblem),
		AgentID: r.text(members.Need("agent_id"), matching(agentID, "1 to 80 letters, digits, _ and -")),
	}
}

func (r *reader) proxy(v *node.Value) Proxy {
	p := Proxy{Timeout: DefaultTimeout, MaxRetries: DefaultMaxRetries}
	if v == nil {
		return p
	}
	members := v.Members("url", "timeout", "max_retries")
	p.URL = r.text(members.Get("url"), urlProblem)
	if timeout := members.Get("timeout"); timeout != nil {
		p.Timeout = time.Duration(whole(timeout, 1)) * time.Second
		if p.Timeout > MostTimeout {
			r.warn(timeout, fmt.Sprintf("is more than the proxy waits, which is %d seconds at most",
				MostTimeout/time.Second))
		}
	}
	if retries := members.Get("max_retries"); retries != nil {
		p.MaxRetries = int(whole(retries, 0))
		if p.MaxRetries > MostRetries {
			r.warn(retries, fmt.Sprintf("is more than the proxy tries again, which is %d times at most", MostRetries))
		}
	}
	return p
}

func (r *reader) serverList(v *node.Value) (servers []Server) {
	for _, item := range v.Items(maxServers) {
		members := item.Members("id", "url", "description", "auth")
		id := members.Need("id")
		s := Server{
			ID:          fixed(id, matching(serverID, "1 to 100 letters, digits, _ and -")),
			URL:         r.text(members.Need("url"), urlProblem),
			Description: members.Get("description").Prose(maxWords),
			Auth:        r.auth(members.Get("auth")),
		}
		if s.ID != "" && r.servers[s.ID] {
			id.Problem("is the id of an earlier server")
		}
		r.servers[s.ID] = true
		servers = append(servers, s)
	}
	return servers
}

// auth reads credentials of exactly one of the three types: members of another are
// not known.
func (r *reader) auth(v *node.Value) Auth {
	if v == nil || !v.Is(node.Map) {
		return Auth{Type: NoAuth}
	}
	switch kind := AuthType(memberText(v, "type")); kind {
	case BearerAuth:
		members := v.Members("type", "token")
		return Auth{Type: kind, Secret: r.secret(members.Need("token"), maxSecret)}
	case KeyAuth:
		members := v.Members("type", "api_key", "header_name")
		auth := Auth{Type: kind, Secret: r.secret(members.Need("api_key"), maxSecret), Header: DefaultHeader}
		if header := members.Get("header_name"); header != nil {
			auth.Header = fixed(header, matching(headerName, "the name of a header"))
		}
		return auth
	case NoAuth:
		v.Members("type")
	default:
		members := v.Members("type", "token", "api_key", "header_name")
		if kind := members.Need("type"); kind != nil {
			kind.OneOf(string(NoAuth), string(BearerAuth), string(KeyAuth))
		}
	}
	return Auth{Type: NoAuth}
}

// memberText is the text of a member, or nothing if that is no text.
func memberText(v *node.Value, name string) string {
	for _, m := range v.Node().Members {
		if m.Key == name && m.Value.Kind == node.String {
			return m.Value.Text
		}
	}
	return ""
}

// tools reads a list of tools. An entry may name a server that the manifest does not
// list, because agents have tools without one; but it is more often a typing error. A coding agent's own tools have the
// agent's name.
func (r *reader) tools(v *node.Value) (tools []string) {
	for _, item := range v.Items(maxTools) {
		entry := fixed(item, toolProblem)
		if server, _, _ := strings.Cut(entry, "."); entry != "" && !r.servers[server] && !toolname.IsReserved(server) {
			r.warn(item, "names "+server+", which is no id of mcp_servers")
		}
		tools = append(tools, entry)
	}
	return tools
}

// secret reads a secret. One that stands in the text itself is worth a warning; what our client sends in place of it is
// none: the client has read the file, and warned there.
func (r *reader) secret(v *node.Value, most int) secret.Text {
	isText := v != nil && v.Node().Kind == node.String && v.Node().Text != ""
	if isText && !strings.Contains(v.Node().Text, "$") && v.Node().Text != (secret.Text{}).String() {
		r.warn(v, "is a secret in the text itself: write it as a variable, such as $WRIT_API_KEY")
	}
	return secret.NewText(r.text(v, func(text string) string { return plainProblem(text, most) }))
}

// text reads text that may hold variables.
func (r *reader) text(v *node.Value, check func(string) string) string {
	text, ok := v.Text()
	if !ok {
		return ""
	}
	if strings.Contains(text, "$") {
		if utf8.RuneCountInString(text) > maxSecret {
			v.Problem("must be at most %d characters", maxSecret)
			return ""
		}
		if r.variables == nil {
			return text
		}
		resolved, problem := substitute(text, r.variables)
		if problem == "" {
			// What the variables stand for may be a secret: say nothing of it.
			if problem = check(resolved); problem != "" {
				problem = "with its variables replaced, " + problem
			}
		}
		if problem != "" {
			v.Problem("%s", problem)
			return ""
		}
		return resolved
	}
	return fixed(v, check)
}

// fixed reads text that holds no variables.
func fixed(v *node.Value, check func(string) string) string {
	text, ok := v.Text()
	if !ok {
		return ""
	}
	if problem := check(text); problem != "" {
		v.Problem("%s", problem)
		return ""
	}
	return text
}

func matching(form func() *regexp.Regexp, what string) func(string) string {
	return func(text string) string {
		if !form().MatchString(text) {
			return "must be " + what
		}
		return ""
	}
}

func idProblem(text string) string { return plainProblem(text, maxID) }

func toolProblem(text string) string {
	if !toolName().MatchString(text) || len(text) > maxPattern {
		return "must be a server id, a dot, and a tool name that may hold *"
	}
	return ""
}

func urlProblem(text string) string {
	if u, err := url.Parse(text); err != nil || u.Host == "" || !urlForm().MatchString(text) ||
		utf8.RuneCountInString(text) > maxURL {
		return "must be a URL with http or https, and without a user in it"
	}
	return ""
}

package decisions

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/redaction"
)

func (h *Handlers) mountManifests(r *route.Router) {
	route.Handle(r, route.Post("/iap/sdk/register",
		"Register an agent's manifest: it narrows at once what the agent may do, and grants nothing").
		For(route.Key).Scoped(principal.Enforce).Records("manifest.registered"), h.registerManifest)
	op := r.OpenAPI().Paths["/iap/sdk/register"].Post
	op.RequestBody.Required, op.RequestBody.Content = true, route.Content[ManifestBody](r)
}

// ManifestBody is an agent's manifest. Unknown members are refused at every level:
// a misspelt deny must not be taken for none.
type ManifestBody struct {
	Version     string               `json:"version" enum:"v1"`
	Identity    ManifestIdentityBody `json:"identity"`
	Environment string               `json:"environment,omitempty" enum:"sandbox,production" default:"sandbox"`
	Proxy       *ManifestProxyBody   `json:"proxy,omitempty"`
	Servers     []ManifestServerBody `json:"mcp_servers,omitempty" nullable:"false"`
	Policy      *ManifestPolicyBody  `json:"policy,omitempty" doc:"Absent, or without entries: nothing is narrowed."`
	Intent      *ManifestIntentBody  `json:"intent,omitempty"`
}

// ManifestIdentityBody is who the agent is.
type ManifestIdentityBody struct {
	APIKey  string `json:"api_key" doc:"Not read, and not stored: the key that registers is the agent's."`
	UserID  string `json:"user_id"`
	AgentID string `json:"agent_id"`
}

// ManifestProxyBody is how the agent reaches the proxy.
type ManifestProxyBody struct {
	URL        *string `json:"url,omitempty" format:"uri"`
	Timeout    *int    `json:"timeout,omitempty" minimum:"1" default:"30"`
	MaxRetries *int    `json:"max_retries,omitempty" minimum:"0" default:"3"`
}

// ManifestServerBody is an MCP server of the agent.
type ManifestServerBody struct {
	ID          string           `json:"id" pattern:"^[A-Za-z0-9_-]+$"`
	URL         string           `json:"url" format:"uri"`
	Description *string          `json:"description,omitempty"`
	Auth        route.SentObject `json:"auth,omitempty" doc:"none, or an object with type none, bearer (token) or api_key (api_key, header_name). Secrets are not stored."`
}

// ManifestPolicyBody lists what the agent may do.
type ManifestPolicyBody struct {
	Allow []string `json:"allow,omitempty" nullable:"false" doc:"server.tool; the tool may hold stars. All else is denied."`
	Deny  []string `json:"deny,omitempty" nullable:"false"`
}

// ManifestIntentBody is how the agent declares plans.
type ManifestIntentBody struct {
	TTLSeconds  *int  `json:"ttl_seconds,omitempty" minimum:"1" default:"300" doc:"Life of a plan whose request states none; at most what the organization allows."`
	RequireCSRG *bool `json:"require_csrg,omitempty" default:"true"`
}

const (
	maxManifestServers = 200
	maxManifestText    = 200 // bytes of an id
)

var serverID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// check gives every rule the manifest breaks.
func (m *ManifestBody) check() error {
	var problems []fault.Detail
	refuse := func(is bool, field, message string) {
		if is {
			problems = append(problems, fault.Detail{Field: field, Message: message})
		}
	}
	refuse(m.Version != "v1", "version", "must be v1")
	for _, id := range []struct{ field, text string }{
		{"identity.api_key", m.Identity.APIKey}, {"identity.user_id", m.Identity.UserID},
		{"identity.agent_id", m.Identity.AgentID},
	} {
		refuse(id.text == "" || len(id.text) > maxManifestText, id.field, "must be 1 to 200 bytes")
	}
	// It becomes part of the name of a policy.
	refuse(!serverID.MatchString(m.Identity.AgentID) || len(m.Identity.AgentID) > 80, "identity.agent_id",
		"must be 1 to 80 letters, digits, _ and -")
	refuse(!slices.Contains([]string{"", "sandbox", "production"}, m.Environment), "environment",
		"must be sandbox or production")
	if p := m.Proxy; p != nil {
		refuse(p.URL != nil && !isURL(*p.URL), "proxy.url", "must be a URL")
		refuse(p.Timeout != nil && *p.Timeout < 1, "proxy.timeout", "must be at least 1")
		refuse(p.MaxRetries != nil && *p.MaxRetries < 0, "proxy.max_retries", "must be at least 0")
	}
	refuse(m.Intent != nil && m.Intent.TTLSeconds != nil && *m.Intent.TTLSeconds < 1, "intent.ttl_seconds",
		"must be at least 1")
	m.checkServers(refuse)
	if len(problems) > 0 {
		return fault.Fields(problems...)
	}
	return nil
}

func (m *ManifestBody) checkServers(refuse func(is bool, field, message string)) {
	refuse(len(m.Servers) > maxManifestServers, "mcp_servers", "must be at most 200")
	ids := map[string]bool{}
	for i, server := range m.Servers {
		at := "mcp_servers[" + strconv.Itoa(i) + "]"
		refuse(!serverID.MatchString(server.ID), at+".id", "must be letters, digits, _ and -")
		refuse(ids[server.ID], at+".id", "is the id of an earlier server")
		ids[server.ID] = true
		refuse(!isURL(server.URL), at+".url", "must be a URL")
		refuse(!isServerAuth(server.Auth), at+".auth",
			"must be none, or of type none, bearer with a token, or api_key with an api_key")
	}
}

// isURL takes what is not resolved yet, too: manifests hold $VARIABLES.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isServerAuth reports whether the credentials of a server are of one of the
// three kinds, without anything else.
func isServerAuth(raw route.SentObject) bool {
	switch value := jsontext.Value(raw); value.Kind() {
	case 0, jsontext.KindNull:
		return true
	case jsontext.KindString:
		var word string
		return json.Unmarshal(value, &word) == nil && word == "none"
	case jsontext.KindBeginObject:
		var auth struct {
			Type   string  `json:"type"`
			Token  *string `json:"token"`
			APIKey *string `json:"api_key"`
			Header *string `json:"header_name"`
		}
		if json.Unmarshal(value, &auth, json.RejectUnknownMembers(true)) != nil {
			return false
		}
		has := func(text *string) bool { return text != nil && *text != "" }
		switch auth.Type {
		case "none":
			return auth.Token == nil && auth.APIKey == nil && auth.Header == nil
		case "bearer":
			return has(auth.Token) && auth.APIKey == nil && auth.Header == nil
		case "api_key":
			return has(auth.APIKey) && auth.Token == nil
		}
	}
	return false
}

// readManifest reads a manifest and gives it redacted, too.
func readManifest(body []byte) (m ManifestBody, redacted jsontext.Value, err error) {
	if jsontext.Value(body).Kind() != jsontext.KindBeginObject {
		return m, nil, fault.Field("body", "is not one JSON object")
	}
	if err := json.Unmarshal(body, &m, json.RejectUnknownMembers(true)); err != nil {
		return m, nil, manifestFault(err)
	}
	if err := m.check(); err != nil {
		return m, nil, err
	}
	redacted, err = redaction.JSON(body)
	if err != nil {
		return m, nil, fault.Field("body", "cannot be read")
	}
	return m, redacted, nil
}

// manifestFault says where a manifest is wrong, in the manifest's own words: what
// was made up by the sender is not repeated.
func manifestFault(err error) error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return fault.Field("body", "%s", route.Describe(err))
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/")
	if !slices.Contains(manifestMembers, first) {
		return fault.Field("body", "has a member that a manifest does not have")
	}
	return fault.Field(first, "has a value of the wrong type, or a member that a manifest does not have")
}

var manifestMembers = []string{"version", "identity", "environment", "proxy", "mcp_servers", "policy", "intent"}

// RegisteredBody is what became of a manifest.
type RegisteredBody struct {
	Success       bool   `json:"success" doc:"True."`
	Message       string `json:"message" doc:"What became of it."`
	AgentID       string `json:"agent_id"`
	Status        string `json:"status" enum:"active,pending,none" doc:"active: it counts. pending: it allows more than the one before, and waits for a person. none: it lists nothing."`
	PolicyID      string `json:"policy_id,omitempty" doc:"The policy that stands for it."`
	PolicyVersion int    `json:"policy_version,omitempty"`
	ProxyEndpoint string `json:"proxy_endpoint" format:"uri"`
}

func (h *Handlers) registerManifest(
	ctx context.Context, caller principal.Principal, in *struct{ RawBody []byte },
) (RegisteredBody, error) {
	if caller.OrgID == "" {
		return RegisteredBody{}, route.NoOrganization()
	}
	sent, redacted, err := readManifest(in.RawBody)
	if err != nil {
		return RegisteredBody{}, err
	}
	m := policy.Manifest{AgentID: sent.Identity.AgentID, Redacted: redacted}
	if sent.Intent != nil && sent.Intent.TTLSeconds != nil {
		longest := int(enforcement.LongestPlanTTL / time.Second) // no organization allows more
		m.PlanLife = time.Duration(min(*sent.Intent.TTLSeconds, longest)) * time.Second
	}
	if lists := sent.Policy; lists != nil && len(lists.Allow)+len(lists.Deny) > 0 {
		narrow := clientpolicy.Manifest{Allow: lists.Allow, Deny: lists.Deny}
		doc, err := narrow.Narrowing("manifest " + m.AgentID)
		if err != nil {
			return RegisteredBody{}, fault.New(fault.Invalid, "%v", err)
		}
		m.Source = &policy.Source{Text: string(document.RenderJSON(doc)), Format: document.JSON}
		m.Narrows = narrow.Within
	}
	registered, err := h.Policies.RegisterManifest(ctx, caller, m)
	if err != nil {
		return RegisteredBody{}, err
	}
	body := RegisteredBody{
		Success:       true,
		AgentID:       m.AgentID,
		PolicyID:      registered.PolicyID,
		PolicyVersion: registered.Version,
		ProxyEndpoint: h.PublicURL.String(),
	}
	body.Status, body.Message = manifestStatus(registered.Active, m.Source != nil)
	return body, nil
}

func manifestStatus(active, lists bool) (status, message string) {
	switch {
	case active:
		return "active", "the agent may do what its manifest lists, as far as policies allow it"
	case lists:
		return "pending", "the manifest allows more than the one before: a person must activate its policy"
	default:
		return "none", "the manifest lists nothing, so it narrows nothing"
	}
}

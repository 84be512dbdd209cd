package decisions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/manifest"
	"writ/internal/mcp"
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
	route.HandleOutput(r, route.Get("/iap/sdk/manifest-schema", "The JSON schema of manifests").
		For(route.Public), h.manifestSchema)
	op := r.OpenAPI().Paths["/iap/sdk/register"].Post
	op.RequestBody.Required, op.RequestBody.Content = true, route.Content[ManifestBody](r)
}

// ManifestBody is an agent's manifest. Unknown members are refused at every level:
// a misspelled deny must not be taken for none.
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

// readManifest reads a manifest and gives it redacted, too.
func readManifest(body []byte) (m *manifest.Manifest, warnings []string, redacted jsontext.Value, err error) {
	m, found, err := manifest.ReadSent(body)
	if err != nil {
		return nil, nil, nil, manifestFault(err)
	}
	redacted, err = redaction.JSON(body)
	if err != nil {
		return nil, nil, nil, fault.Field("body", "cannot be read")
	}
	for _, w := range found {
		if !strings.HasPrefix(w.Field, "identity.") { // a key is never kept
			warnings = append(warnings, w.Field+" "+w.Message)
		}
	}
	return m, warnings, redacted, nil
}

// manifestFault says where a manifest is wrong, in the manifest's own words: what
// was made up by the sender is not repeated.
func manifestFault(err error) error {
	invalid, ok := errors.AsType[*manifest.Invalid](err)
	if !ok {
		return err
	}
	details := make([]fault.Detail, len(invalid.Problems))
	for i, p := range invalid.Problems {
		details[i] = fault.Detail{Field: p.KnownField(), Message: p.Message}
		if details[i].Field != p.Field && p.Field != "" {
			details[i].Message = "has a member that a manifest does not have"
		}
	}
	return fault.Fields(details...)
}

// RegisteredBody is what became of a manifest.
type RegisteredBody struct {
	Success       bool   `json:"success" doc:"True."`
	Message       string `json:"message" doc:"What became of it."`
	AgentID       string `json:"agent_id"`
	Status        string `json:"status" enum:"active,pending,none" doc:"active: it counts. pending: it allows more than the one before, and waits for a person. none: it lists nothing."`
	PolicyID      string `json:"policy_id,omitempty" doc:"The policy that stands for it."`
	PolicyVersion int    `json:"policy_version,omitempty" doc:"With none: the version that was registered before and is in force."`
	ProxyEndpoint string `json:"proxy_endpoint" format:"uri"`

	Servers  []ManifestServerStatus `json:"mcp_servers" nullable:"false" doc:"What became of its MCP servers, each of which a person approves."`
	Changes  []ManifestChangeBody   `json:"changes" nullable:"false" doc:"How its lists differ from those in force before."`
	Warnings []string               `json:"warnings" nullable:"false" doc:"What was taken and is probably not meant."`
}

// ManifestServerStatus is what became of an MCP server of a manifest.
type ManifestServerStatus struct {
	ID     string `json:"id"`
	Status string `json:"status" enum:"pending,approved,denied,refused" doc:"refused: see problem."`

	Problem string `json:"problem,omitempty" doc:"Why it is not registered."`
}

// ManifestChangeBody is an entry that a list of a manifest gained or lost.
type ManifestChangeBody struct {
	Kind  document.ChangeKind `json:"kind" enum:"added,removed"`
	List  string              `json:"list" enum:"allow,deny"`
	Entry string              `json:"entry"`
}

func (h *Handlers) manifestSchema(context.Context, principal.Principal, *route.None) (*schemaOutput, error) {
	return &schemaOutput{ContentType: "application/schema+json", Body: manifest.Schema()}, nil
}

type schemaOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (h *Handlers) registerManifest(
	ctx context.Context, caller principal.Principal, in *struct{ RawBody []byte },
) (RegisteredBody, error) {
	if caller.OrgID == "" {
		return RegisteredBody{}, route.NoOrganization()
	}
	sent, warnings, redacted, err := readManifest(in.RawBody)
	if err != nil {
		return RegisteredBody{}, err
	}
	m := policy.Manifest{AgentID: sent.Identity.AgentID, Redacted: redacted, Proxy: policy.ProxySettings{
		RequireProofs: sent.RequireProofs, Timeout: sent.Proxy.Timeout, Retries: sent.Proxy.MaxRetries,
	}}
	if sent.StatesPlanLife {
		m.PlanLife = min(sent.PlanLife, enforcement.LongestPlanTTL) // no organization allows more
	}
	lists := clientpolicy.Manifest{Allow: sent.Allow, Deny: sent.Deny}
	if sent.HasLists() {
		doc, err := lists.Narrowing("manifest " + m.AgentID)
		if err != nil {
			return RegisteredBody{}, fault.New(fault.Invalid, "%v", err)
		}
		m.Source = &policy.Source{Text: string(document.RenderJSON(doc)), Format: document.JSON}
		m.Narrows = lists.Within
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
		Changes:       manifestChanges(lists, registered, sent.HasLists()),
		Warnings:      append([]string{}, warnings...),
	}
	if sent.Environment != caller.Environment {
		body.Warnings = append(body.Warnings, fmt.Sprintf(
			"environment is %s, and the key is for %s: the key counts", sent.Environment, caller.Environment))
	}
	if !sent.RequireProofs {
		body.Warnings = append(body.Warnings, "intent.require_csrg is false, which counts only once a person "+
			"has set proofsOptional of the agent, with this key bound to it")
	}
	body.Status, body.Message = manifestStatus(registered, m.Source != nil)
	body.Servers, err = h.proposeServers(ctx, caller, sent.Servers)
	return body, err
}

// proposeServers registers the servers of a manifest: each is pending until a person approves it. Secrets are
// not kept: a manifest may hold only their names. A server that cannot be registered does not stop the
// others.
func (h *Handlers) proposeServers(
	ctx context.Context, caller principal.Principal, servers []manifest.Server,
) ([]ManifestServerStatus, error) {
	all := []ManifestServerStatus{}
	for _, s := range servers {
		known, err := h.Servers.Register(ctx, caller, mcp.Registration{
			Name: s.ID, URL: s.URL, Description: s.Description, Source: "manifest",
			Auth: mcp.Auth{Type: string(s.Auth.Type), Header: s.Auth.Header},
		})
		switch kind := fault.KindOf(err); {
		case err == nil:
			all = append(all, ManifestServerStatus{ID: s.ID, Status: string(known.Status)})
		case kind == fault.Invalid || kind == fault.Conflict:
			all = append(all, ManifestServerStatus{ID: s.ID, Status: "refused", Problem: err.Error()})
		default:
			return all, err
		}
	}
	return all, nil
}

// manifestChanges are those of the lists. A manifest without lists leaves the ones in
// force as they are.
func manifestChanges(lists clientpolicy.Manifest, r policy.Registered, hasLists bool) []ManifestChangeBody {
	bodies := []ManifestChangeBody{}
	if !hasLists {
		return bodies
	}
	changes, _ := lists.ChangesFrom(r.Before)
	for _, c := range changes {
		bodies = append(bodies, ManifestChangeBody(c))
	}
	return bodies
}

func manifestStatus(r policy.Registered, lists bool) (status, message string) {
	switch {
	case r.Active:
		return "active", "the agent may do what its manifest lists, as far as policies allow it"
	case lists:
		return "pending", "the manifest allows more than the one before: a person must activate its policy"
	case r.Version != 0:
		return "none", "the manifest lists nothing; the lists before stay in force until a person deactivates their policy"
	default:
		return "none", "the manifest lists nothing, so it narrows nothing"
	}
}

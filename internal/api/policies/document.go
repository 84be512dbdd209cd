package policies

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/confine"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/drafting"
	"writ/internal/principal"
)

// DocumentBody is a policy as people write it. GET /policies/schema describes it in full.
type DocumentBody struct {
	Version     string     `json:"version" enum:"v1"`
	Name        string     `json:"name" example:"payments"`
	Description string     `json:"description,omitempty"`
	Default     string     `json:"default" enum:"deny,allow,hold,ask" doc:"When no rule matches."`
	Rules       []RuleBody `json:"rules" nullable:"false"`
}

// RuleBody is a rule of a policy.
type RuleBody struct {
	ID          string         `json:"id" example:"large-payments"`
	Description string         `json:"description,omitempty"`
	Effect      string         `json:"effect" enum:"allow,deny,hold,ask"`
	Tools       []string       `json:"tools" nullable:"false" doc:"Patterns server.tool; a star stands for any run of characters."`
	When        string         `json:"when,omitempty" doc:"A CEL expression; absent: always." example:"args.amount > 1000"`
	Limit       *LimitBody     `json:"limit,omitempty"`
	Confine     *ConfineBody   `json:"confine,omitzero" doc:"With allow: the call is allowed only confined to this, for callers that state the capability confine."`
	Otherwise   string         `json:"otherwise,omitempty" enum:"deny,hold,allow" doc:"With confine: what every other caller gets; absent: deny."`
	Oblige      *ObligeBody    `json:"oblige,omitzero" doc:"What whoever carries the call out must do with its result. Callers that do not state the capability oblige are denied."`
	Approvers   *ApproversBody `json:"approvers,omitempty"`
	Message     string         `json:"message,omitempty" doc:"For the agent."`
}

// ConfineBody is what a call is confined to.
type ConfineBody struct {
	Write []string `json:"write,omitempty" nullable:"false" doc:"The directories that it may change: absolute, or beginning with workspace (the one that the caller works in) or ~. Absent: none."`
	Read  []string `json:"read,omitempty" nullable:"false" doc:"The directories that it may read, beside those and the system's own."`
	Net   []string `json:"net,omitempty" nullable:"false" doc:"The hosts that it may reach, each as HOST:PORT. Absent: none."`

	Protect []string `json:"protect,omitempty" nullable:"false" doc:"The directories that stay read-only where they lie inside those of write, because one of several rules lets it only read them."`
}

// ConfineOf is limits as a body; nil: none.
func ConfineOf(l *confine.Limits) *ConfineBody {
	if l == nil {
		return nil
	}
	return &ConfineBody{Write: l.Write, Read: l.Read, Net: l.Net, Protect: l.Protect}
}

// ObligeBody is what must be done with the result of a call.
type ObligeBody struct {
	Redact   []string `json:"redact,omitempty" nullable:"false" doc:"Members whose values are left out: NAME, or OUTER.NAME for one directly within another; a star is any name."`
	Labels   []string `json:"labels,omitempty" nullable:"false" doc:"Labels that are told with the result."`
	MaxBytes int64    `json:"max_bytes,omitzero" doc:"How large the result may be, as JSON. Absent: as large as any."`
}

// ObligeOf is obligations as a body; nil: none.
func ObligeOf(s *document.Obligations) *ObligeBody {
	if s.IsZero() {
		return nil
	}
	return &ObligeBody{Redact: s.Redact, Labels: s.Labels, MaxBytes: s.MaxBytes}
}

// LimitBody is how much a rule lets through: calls, cost or tokens, in each window.
type LimitBody struct {
	Calls  *int64   `json:"calls,omitempty"`
	Cost   *float64 `json:"cost,omitempty" doc:"US dollars."`
	Tokens *int64   `json:"tokens,omitempty"`
	Per    string   `json:"per" example:"1h"`
	By     string   `json:"by" enum:"agent,session,user,org"`
}

// ApproversBody says who must approve a call on hold.
type ApproversBody struct {
	Role  string `json:"role" enum:"owner,admin,approver"`
	Count int    `json:"count"`
}

// ProblemBody is a likely mistake in a document.
type ProblemBody struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func problemBodies(problems []document.Problem) []ProblemBody {
	var bodies []ProblemBody
	for _, p := range problems {
		bodies = append(bodies, ProblemBody{
			Line:    p.Line,
			Column:  p.Column,
			Rule:    p.Rule,
			Field:   p.Field,
			Message: p.Message,
		})
	}
	return bodies
}

// yamlType is the media type of documents in YAML.
const yamlType = "application/yaml"

// yamlTypes are the names YAML goes by.
var yamlTypes = []string{yamlType, "application/x-yaml", "text/yaml", "text/x-yaml"}

func (h *Handlers) mountDocuments(r *route.Router) {
	route.HandleOutput(r, draft(route.Post("/policies", "Create a policy, as a draft, from the document in the body")).
		Records("policy.created").Answers(http.StatusCreated), h.create)
	route.HandleOutput(r, draft(route.Put("/policies/{policyId}", "Write a new version of a policy")).
		Records("policy.updated"), h.update)
	route.HandleOutput(r, draft(route.Patch("/policies/{policyId}",
		"Write a new version of a policy: the whole document")).Records("policy.updated"), h.update)
	route.Handle(r, draft(route.Post("/policies/validate", "Check a document without storing it")).
		Unrecorded(), h.validate)
	route.HandleOutput(r, draft(route.Post("/policies/yaml/import",
		"Store a document as a new version of the policy with its name, or as a new policy")).
		Records("policy.created"), h.importDocument)
	paths := r.OpenAPI().Paths
	for _, op := range []*huma.Operation{
		paths["/policies"].Post, paths["/policies/{policyId}"].Put, paths["/policies/{policyId}"].Patch,
		paths["/policies/validate"].Post, paths["/policies/yaml/import"].Post,
	} {
		documentBodies(r, op)
	}
	route.HandleOutput(r, read(route.Get("/policies/yaml/export/{policyId}",
		"A policy as YAML, byte for byte as it was written")), h.export)
}

// documentBodies says in the OpenAPI document that an operation takes a policy, as JSON or as YAML.
func documentBodies(r *route.Router, op *huma.Operation) {
	op.RequestBody.Required = true
	op.RequestBody.Content = route.Content[DocumentBody](r)
	op.RequestBody.Content[yamlType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
}

// DocumentInput is a body that is a document, as JSON or YAML.
type DocumentInput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

// source is the document as it was written. The body is copied: huma reuses it.
func (in DocumentInput) source() (policy.Source, error) {
	source := policy.Source{Text: string(in.RawBody), Format: document.JSON}
	if in.ContentType == "" {
		return source, nil
	}
	kind, _, err := mime.ParseMediaType(in.ContentType)
	if err == nil && kind == route.JSONType {
		return source, nil
	}
	for _, name := range yamlTypes {
		if err == nil && kind == name {
			source.Format = document.YAML
			return source, nil
		}
	}
	return policy.Source{}, fault.New(fault.Invalid, "send Content-Type: %s or %s", route.JSONType, yamlType)
}

type createPolicyInput struct {
	route.OrganizationQuery
	DocumentInput
}

func (h *Handlers) create(
	ctx context.Context, caller principal.Principal, in *createPolicyInput,
) (*policyOutput, error) {
	source, err := in.source()
	if err != nil {
		return nil, err
	}
	return shown(h.Policies.Create(ctx, caller, source))
}

type updatePolicyInput struct {
	PolicyInput
	DocumentInput
	IfMatch       string `header:"If-Match" doc:"The ETag of the version to replace; 409 if another one is the latest."`
	PolicyVersion int    `query:"policyVersion" minimum:"1" maximum:"1000000" doc:"The same as a number."`
}

func (h *Handlers) update(
	ctx context.Context, caller principal.Principal, in *updatePolicyInput,
) (*policyOutput, error) {
	source, err := in.source()
	if err != nil {
		return nil, err
	}
	expected, err := in.expected()
	if err != nil {
		return nil, err
	}
	return shown(h.Policies.Update(ctx, caller, in.PolicyID, source, expected))
}

// expected is the version that the caller has read. An invalid header is refused: if it were ignored, the update would
// overwrite the version that the header should protect.
func (in *updatePolicyInput) expected() (int, error) {
	if in.IfMatch == "" || in.IfMatch == "*" {
		return in.PolicyVersion, nil
	}
	number, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(in.IfMatch, "W/"), `"`))
	if err != nil || number < 1 || in.PolicyVersion != 0 && in.PolicyVersion != number {
		return 0, fault.Field("If-Match", "must be the ETag of a version")
	}
	return number, nil
}

func (h *Handlers) importDocument(
	ctx context.Context, caller principal.Principal, in *createPolicyInput,
) (*policyOutput, error) {
	source, err := in.source()
	if err != nil {
		return nil, err
	}
	return shown(h.Policies.Import(ctx, caller, source))
}

// ValidBody is what a valid document says.
type ValidBody struct {
	Valid    bool          `json:"valid" doc:"Always true: a document that is not valid is a 400 with every problem."`
	Document DocumentBody  `json:"document" doc:"The document with its defaults."`
	Warnings []ProblemBody `json:"warnings" nullable:"false" doc:"Likely mistakes."`

	Explanation []string            `json:"explanation" nullable:"false" doc:"What each of its rules does, in a sentence made from the rule."`
	Findings    []PolicyFindingBody `json:"findings" nullable:"false" doc:"Rules that never apply or permit too much, as far as the text alone shows it."`
}

func (h *Handlers) validate(
	ctx context.Context, caller principal.Principal, in *createPolicyInput,
) (ValidBody, error) {
	source, err := in.source()
	if err != nil {
		return ValidBody{}, err
	}
	valid, err := h.Policies.Validate(ctx, caller, source)
	if err != nil {
		return ValidBody{}, err
	}
	shown, err := DocumentOf(valid.Document)
	return ValidBody{
		Valid: true, Document: shown, Warnings: append([]ProblemBody{}, problemBodies(valid.Warnings)...),
		Explanation: drafting.Explain(valid.Document), Findings: policyFindingBodies(valid.Report.Findings),
	}, err
}

type exportInput struct {
	PolicyInput
	Version int `query:"version" minimum:"1" maximum:"1000000" doc:"Absent: the latest."`
}

type textOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (h *Handlers) export(ctx context.Context, caller principal.Principal, in *exportInput) (*textOutput, error) {
	text, err := h.Policies.Export(ctx, caller, in.PolicyID, in.Version)
	if err != nil {
		return nil, err
	}
	return &textOutput{ContentType: yamlType, Body: text}, nil
}

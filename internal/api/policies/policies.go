// Package policies serves policies: their documents, versions, activation and bindings, simulated calls, replays of
// recorded calls, the profiles that plugins propose, and recorded preflights. People activate policies; keys may only
// draft them.
package policies

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/drafting"
	"writ/internal/principal"
	"writ/internal/replay"
)

// Handlers serve policies, profiles, replays and recorded preflights.
type Handlers struct {
	Policies      *policy.Service
	Enforcement   *enforcement.Service
	Organizations *organization.Service
	Replays       *replay.Service
	Drafts        *drafting.Author
	Audit         *audit.Service
	Plans         *intent.Service // have the preflights
	PublicURL     *url.URL        // where the schema of policies is served
	Now           func() time.Time
}

// Mount serves policies, profiles and replays.
func (h *Handlers) Mount(r *route.Router) {
	all := r
	r = all.Tagged("policies")
	h.mountReads(r)
	h.mountDocuments(r)
	h.mountLifecycle(r)
	h.mountBindings(r)
	h.mountChecks(r)
	h.mountTests(r)
	h.mountTemplates(r)
	h.mountDrafts(r)
	h.mountProfiles(all.Tagged("profiles"))
	h.mountStudies(r)
	h.mountReplays(r)
}

// read admits people, and keys that draft policies.
func read(rt route.Route) route.Route {
	return rt.For(route.PersonOrKey).Needs(principal.ReadPolicies).Scoped(principal.DraftPolicy)
}

// draft admits people and keys that draft policies.
func draft(rt route.Route) route.Route {
	return rt.For(route.PersonOrKey).Needs(principal.DraftPolicies).Scoped(principal.DraftPolicy)
}

// propose admits people and keys that propose profiles, as those of terminals do.
func propose(rt route.Route) route.Route {
	return rt.For(route.PersonOrKey).Needs(principal.DraftPolicies).Scoped(principal.ProposeProfile)
}

// manage admits people who manage policies, and no keys.
func manage(rt route.Route) route.Route {
	return rt.For(route.Person).Needs(principal.ManagePolicies)
}

func (h *Handlers) mountReads(r *route.Router) {
	route.Handle(r, read(route.Get("/policies", "List policies")), h.list)
	route.HandleOutput(r, read(route.Get("/policies/{policyId}", "A policy with its latest version")), h.get)
	route.Handle(r, read(route.Get("/policies/{policyId}/versions", "The versions of a policy, newest first")),
		h.listVersions)
	route.HandleOutput(r, read(route.Get("/policies/{policyId}/versions/{version}",
		"A policy with one of its versions")), h.getVersion)
	route.Handle(r, read(route.Get("/policies/{policyId}/diff",
		"What changed from one version of a policy to another")), h.diff)
}

// PolicyInput is the path of a route about one policy.
type PolicyInput struct {
	PolicyID string `path:"policyId" doc:"The policy."`
}

// PolicyState is a policy without its document.
type PolicyState struct {
	ID             string        `json:"id" format:"uuid"`
	OrganizationID string        `json:"organizationId" format:"uuid"`
	PolicyVersion  int           `json:"policyVersion" doc:"The version that is shown, or in a list the latest."`
	ActiveVersion  *int          `json:"activeVersion" doc:"The version that calls are judged by; null: none."`
	ShadowVersion  *int          `json:"shadowVersion" doc:"The version that runs as a shadow, which is recorded but decides nothing; null: none."`
	ShadowSince    *time.Time    `json:"shadowSince" doc:"When the shadow started; null: none."`
	Status         policy.Status `json:"status" enum:"draft,active,inactive"`
	Face           policy.Face   `json:"face,omitempty" enum:"profile" doc:"profile: a plugin proposed it, and it is activated under /policies/profiles. Absent: it was written as a document."`
	ActivatedAt    *time.Time    `json:"activatedAt" doc:"When it was last activated; null: never."`
	CreatedAt      time.Time     `json:"createdAt"`
	UpdatedAt      time.Time     `json:"updatedAt"`
}

func policyState(p policy.Policy, version int) PolicyState {
	state := PolicyState{
		ID:             p.ID,
		OrganizationID: p.OrgID,
		PolicyVersion:  version,
		Status:         p.Status(),
		Face:           p.Face,
		ActivatedAt:    p.ActivatedAt,
		CreatedAt:      p.CreatedAt,
		UpdatedAt:      p.UpdatedAt,
		ShadowSince:    p.ShadowSince,
	}
	if p.ActiveVersion != 0 {
		state.ActiveVersion = &p.ActiveVersion
	}
	if p.ShadowVersion != 0 {
		state.ShadowVersion = &p.ShadowVersion
	}
	return state
}

// ListedPolicyBody is a policy in a list.
type ListedPolicyBody struct {
	PolicyState
	Name string `json:"name" doc:"Of the latest version; of the active one if that is a profile."`
}

func listedPolicy(p policy.Policy) ListedPolicyBody {
	return ListedPolicyBody{PolicyState: policyState(p, p.LatestVersion), Name: p.Name}
}

// VersionState is a version without its document.
type VersionState struct {
	Author       AuthorBody `json:"author"`
	WrittenAt    time.Time  `json:"writtenAt"`
	Digest       string     `json:"digest" doc:"Hex SHA-256 of the text as it was written."`
	RestoredFrom *int       `json:"restoredFrom" doc:"The version that a rollback restored; null: it was written."`
}

// AuthorBody is the author of a version.
type AuthorBody struct {
	Kind principal.Kind `json:"kind" enum:"user,key,system"`
	ID   string         `json:"id" doc:"The id of the person or key; empty if the server wrote it."`
}

func versionState(v policy.Version) VersionState {
	state := VersionState{Author: AuthorBody(v.Author), WrittenAt: v.CreatedAt, Digest: v.Digest}
	if v.RestoredFrom != 0 {
		state.RestoredFrom = &v.RestoredFrom
	}
	return state
}

// PolicyBody is a policy with one of its versions.
type PolicyBody struct {
	DocumentBody
	PolicyState
	VersionState
	Explanation []string      `json:"explanation" nullable:"false" doc:"What each of its rules does, in a sentence made from the rule."`
	Warnings    []ProblemBody `json:"warnings,omitempty" doc:"Likely mistakes in what was just written."`
}

// policyOutput is a policy as most routes answer it.
type policyOutput = versioned[PolicyBody]

// versioned is an answer whose ETag is the policy's version.
type versioned[T any] struct {
	ETag string `header:"ETag" doc:"The version, for If-Match."`
	Body T
}

// shown is the answer of every route that returns a policy.
func shown(full policy.Full, err error) (*policyOutput, error) {
	if err != nil {
		return nil, err
	}
	doc, err := DocumentOf(full.Document)
	if err != nil {
		return nil, err
	}
	return &policyOutput{ETag: fmt.Sprintf(`"%d"`, full.Version.Number), Body: PolicyBody{
		DocumentBody: doc, PolicyState: policyState(full.Policy, full.Version.Number),
		VersionState: versionState(full.Version),
		Explanation:  drafting.Explain(full.Document),
		Warnings:     problemBodies(full.Warnings),
	}}, nil
}

// DocumentOf returns a document in its JSON form.
func DocumentOf(doc *document.Document) (body DocumentBody, err error) {
	if err := json.Unmarshal(document.RenderJSON(doc), &body); err != nil {
		return DocumentBody{}, fmt.Errorf("show the document of a policy: %w", err)
	}
	return body, nil
}

type listPoliciesInput struct {
	route.OrganizationQuery
	route.PageInput
	Status string `query:"status" enum:"draft,active,inactive" doc:"Only policies with this status."`
	Name   string `query:"name" maxLength:"400" doc:"Only the policy with exactly this name."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listPoliciesInput,
) (page.Page[ListedPolicyBody], error) {
	policies, err := h.Policies.List(ctx, caller, policy.Filter{Status: policy.Status(in.Status), Name: in.Name},
		in.Cursor, in.Limit)
	return route.MapPage(policies, listedPolicy), err
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, in *PolicyInput) (*policyOutput, error) {
	return shown(h.Policies.Get(ctx, caller, in.PolicyID, policy.LatestVersion))
}

// VersionInput is the path of a route about one version of a policy.
type VersionInput struct {
	PolicyInput
	Version int `path:"version" minimum:"1" maximum:"1000000"`
}

func (h *Handlers) getVersion(
	ctx context.Context, caller principal.Principal, in *VersionInput,
) (*policyOutput, error) {
	return shown(h.Policies.Get(ctx, caller, in.PolicyID, in.Version))
}

// VersionBody is a version in a list.
type VersionBody struct {
	PolicyVersion int `json:"policyVersion"`
	VersionState
	Rules int `json:"rules" doc:"How many rules it has."`
}

func versionBody(v policy.Version) VersionBody {
	return VersionBody{PolicyVersion: v.Number, VersionState: versionState(v), Rules: v.Rules}
}

type listVersionsInput struct {
	PolicyInput
	route.PageInput
}

func (h *Handlers) listVersions(
	ctx context.Context, caller principal.Principal, in *listVersionsInput,
) (page.Page[VersionBody], error) {
	versions, err := h.Policies.Versions(ctx, caller, in.PolicyID, in.Cursor, in.Limit)
	return route.MapPage(versions, versionBody), err
}

type diffInput struct {
	PolicyInput
	From int `query:"from" required:"true" minimum:"1" maximum:"1000000" doc:"The older version."`
	To   int `query:"to" minimum:"1" maximum:"1000000" doc:"The newer version. Absent: the latest."`
}

// DiffBody is how two versions differ.
type DiffBody struct {
	Changes []ChangeBody `json:"changes" nullable:"false"`
}

func (h *Handlers) diff(ctx context.Context, caller principal.Principal, in *diffInput) (DiffBody, error) {
	changes, err := h.Policies.Diff(ctx, caller, in.PolicyID, in.From, in.To)
	return DiffBody{changeBodies(changes)}, err
}

// ChangeBody is one difference between two versions.
type ChangeBody struct {
	Kind  document.ChangeKind `json:"kind" enum:"added,removed,changed"`
	Rule  string              `json:"rule,omitempty" doc:"Its id. Absent: the document itself."`
	Field string              `json:"field,omitempty" doc:"Absent: the whole rule."`
	Old   string              `json:"old,omitempty" doc:"As it is written; a rule as YAML."`
	New   string              `json:"new,omitempty"`
}

func changeBodies(changes []document.Change) []ChangeBody {
	bodies := make([]ChangeBody, len(changes))
	for i, c := range changes {
		bodies[i] = ChangeBody(c)
	}
	return bodies
}

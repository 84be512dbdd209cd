package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

const policyTag = "policies"

func (a *API) mountPolicies() {
	a.mountPolicyReads()
	a.mountPolicyDocuments()
	a.mountPolicyLife()
	a.mountShadows()
	a.mountBindings()
	a.mountChecks()
	a.mountTemplates()
	a.mountDrafts()
	a.mountProfiles()
	a.mountStudies()
	a.mountReplays()
}

func (a *API) mountPolicyReads() {
	read := func(path, summary string) Route {
		return Route{
			Method: http.MethodGet, Path: path, Tag: policyTag, Summary: summary,
			Mode: Either, Action: principal.ReadPolicies, Scope: principal.DraftPolicy,
		}
	}
	handle(a, read("/policies", "List policies"), a.listPolicies)
	handle(a, read("/policies/{policyId}", "A policy with its latest version"), a.getPolicy)
	handle(a, read("/policies/{policyId}/versions", "The versions of a policy, newest first"), a.listVersions)
	handle(a, read("/policies/{policyId}/versions/{version}", "A policy with one of its versions"), a.getVersion)
	handle(a, read("/policies/{policyId}/diff", "What changed from one version of a policy to another"), a.diffPolicy)
}

// PolicyInput is the path of a route about one policy. The guard has read it.
type PolicyInput struct {
	PolicyID string `path:"policyId" doc:"The policy."`
}

// PolicyState is what is known of a policy beside its document.
type PolicyState struct {
	ID             string        `json:"id" format:"uuid"`
	OrganizationID string        `json:"organizationId" format:"uuid"`
	PolicyVersion  int           `json:"policyVersion" doc:"The version that is shown, or in a list the latest."`
	ActiveVersion  *int          `json:"activeVersion" doc:"The version that calls are judged by; null: none."`
	ShadowVersion  *int          `json:"shadowVersion" doc:"The version that runs as a shadow: what it would have led to is written down, and changes nothing; null: none."`
	ShadowSince    *time.Time    `json:"shadowSince" doc:"Since when; null: none does."`
	Status         policy.Status `json:"status" enum:"draft,active,inactive"`
	Face           policy.Face   `json:"face,omitempty" enum:"profile" doc:"profile: it was proposed by a plugin, and is put in force under /policies/profiles. Absent: it is a document of its own."`
	ActivatedAt    *time.Time    `json:"activatedAt" doc:"The last time; null: never."`
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
	Name string `json:"name" doc:"Of the latest version."`
}

func listedPolicy(p policy.Policy) ListedPolicyBody {
	return ListedPolicyBody{PolicyState: policyState(p, p.LatestVersion), Name: p.Name}
}

// VersionState is what is known of a version beside its document.
type VersionState struct {
	Author       AuthorBody `json:"author"`
	WrittenAt    time.Time  `json:"writtenAt"`
	Digest       string     `json:"digest" doc:"Hex SHA-256 of the text as it was written."`
	RestoredFrom *int       `json:"restoredFrom" doc:"The version a rollback took it from; null: it was written."`
}

// AuthorBody is who wrote a version.
type AuthorBody struct {
	Kind principal.Kind `json:"kind" enum:"user,key,system"`
	ID   string         `json:"id" doc:"Of the person or key; empty where the server wrote it."`
}

func versionState(v policy.Version) VersionState {
	state := VersionState{Author: AuthorBody(v.Author), WrittenAt: v.CreatedAt, Digest: v.Digest}
	if v.RestoredFrom != 0 {
		state.RestoredFrom = &v.RestoredFrom
	}
	return state
}

// PolicyBody is a policy with one of its versions: the document itself, and what
// is known of it.
type PolicyBody struct {
	DocumentBody
	PolicyState
	VersionState
	Warnings []ProblemBody `json:"warnings,omitempty" doc:"Likely mistakes in what was just written."`
}

type policyOutput struct {
	ETag string `header:"ETag" doc:"The version, for If-Match."`
	Body PolicyBody
}

// shown is the answer of every route that gives a policy.
func shown(full policy.Full, err error) (*policyOutput, error) {
	if err != nil {
		return nil, err
	}
	doc, err := documentBody(full.Document)
	if err != nil {
		return nil, err
	}
	return &policyOutput{ETag: fmt.Sprintf(`"%d"`, full.Version.Number), Body: PolicyBody{
		DocumentBody: doc, PolicyState: policyState(full.Policy, full.Version.Number),
		VersionState: versionState(full.Version),
		Warnings:     problemBodies(full.Warnings),
	}}, nil
}

// documentBody is the document as its own JSON form has it.
func documentBody(doc *document.Document) (body DocumentBody, err error) {
	if err := json.Unmarshal(document.RenderJSON(doc), &body); err != nil {
		return DocumentBody{}, fmt.Errorf("show the document of a policy: %w", err)
	}
	return body, nil
}

type listPoliciesInput struct {
	OrganizationQuery
	PageInput
	Status string `query:"status" enum:"draft,active,inactive" doc:"Only policies in this state."`
	Name   string `query:"name" maxLength:"400" doc:"Only the policy of exactly this name."`
}

type policiesOutput struct{ Body page.Page[ListedPolicyBody] }

func (a *API) listPolicies(
	ctx context.Context, caller principal.Principal, in *listPoliciesInput,
) (*policiesOutput, error) {
	policies, err := a.Policies.List(ctx, caller, policy.Filter{Status: policy.Status(in.Status), Name: in.Name},
		in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return &policiesOutput{route.MapPage(policies, listedPolicy)}, nil
}

func (a *API) getPolicy(ctx context.Context, caller principal.Principal, in *PolicyInput) (*policyOutput, error) {
	return shown(a.Policies.Get(ctx, caller, in.PolicyID, policy.LatestVersion))
}

// VersionInput is the path of a route about one version of a policy.
type VersionInput struct {
	PolicyInput
	Version int `path:"version" minimum:"1" maximum:"1000000"`
}

func (a *API) getVersion(ctx context.Context, caller principal.Principal, in *VersionInput) (*policyOutput, error) {
	return shown(a.Policies.Get(ctx, caller, in.PolicyID, in.Version))
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
	PageInput
}

type versionsOutput struct{ Body page.Page[VersionBody] }

func (a *API) listVersions(
	ctx context.Context, caller principal.Principal, in *listVersionsInput,
) (*versionsOutput, error) {
	versions, err := a.Policies.Versions(ctx, caller, in.PolicyID, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return &versionsOutput{route.MapPage(versions, versionBody)}, nil
}

type diffInput struct {
	PolicyInput
	From int `query:"from" required:"true" minimum:"1" maximum:"1000000" doc:"The older version."`
	To   int `query:"to" minimum:"1" maximum:"1000000" doc:"The newer version. Absent: the latest."`
}

type diffOutput struct {
	Body struct {
		Changes []ChangeBody `json:"changes" nullable:"false"`
	}
}

func (a *API) diffPolicy(ctx context.Context, caller principal.Principal, in *diffInput) (*diffOutput, error) {
	changes, err := a.Policies.Diff(ctx, caller, in.PolicyID, in.From, in.To)
	if err != nil {
		return nil, err
	}
	out := &diffOutput{}
	out.Body.Changes = changeBodies(changes)
	return out, nil
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

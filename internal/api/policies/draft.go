package policies

import (
	"context"
	"net/http"
	"strings"

	"writ/internal/api/route"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/drafting"
	"writ/internal/policy/policytest"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountDrafts serves drafts from a person's description. Keys may not use it: an agent's words are not a person's wish,
// and a model costs the operator money.
func (h *Handlers) mountDrafts(r *route.Router) {
	route.HandleOutput(r,
		route.Post("/policies/draft",
			"Draft a policy from a description, and store it with its explanation, tests and findings").
			For(route.Person).Needs(principal.DraftPolicies).Throttled(throttle.DraftPolicy).
			Records("policy.created").Answers(http.StatusCreated), h.draftPolicy)
}

type draftInput struct {
	route.OrganizationQuery
	Body struct {
		Description string `json:"description" minLength:"3" maxLength:"2000" doc:"What the agent may do, in your words. Secrets are removed before a model sees it." example:"An agent that answers customers' mail and may refund up to 50 EUR."`
		Name        string `json:"name,omitempty" maxLength:"100" doc:"The name of the policy. Absent: the draft's own, with a number if that is taken."`
		Source      string `json:"source,omitempty" enum:"template,model" doc:"Absent: the model if the server has one, else a template that the description chooses."`
		Template    string `json:"template,omitempty" maxLength:"100" doc:"The name of the template to use."`
	}
}

// DraftedTestBody is the result of a test of a draft.
type DraftedTestBody struct {
	Name     string   `json:"name"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures,omitempty"`
}

// DraftedBody is a policy that was drafted from a description, with what to know before activating it.
type DraftedBody struct {
	PolicyBody
	Source      drafting.Origin     `json:"source" enum:"template,model"`
	Template    string              `json:"template,omitempty" doc:"The template that was used."`
	Tests       string              `json:"tests" doc:"Its tests, for writd policy test; they name the policy policy.yaml."`
	TestResults []DraftedTestBody   `json:"testResults" nullable:"false"`
	Passed      bool                `json:"passed" doc:"Whether all tests have passed."`
	Findings    []PolicyFindingBody `json:"findings" nullable:"false" doc:"Rules that never apply or permit too much."`
}

func (h *Handlers) draftPolicy(
	ctx context.Context, caller principal.Principal, in *draftInput,
) (*versioned[DraftedBody], error) {
	b := &in.Body
	if name := strings.TrimSpace(b.Name); name != "" {
		if err := drafting.CheckName(name); err != nil {
			return nil, err
		}
		if err := h.Policies.RequireFreeName(ctx, caller, name); err != nil {
			return nil, err // before the model is asked
		}
	}
	draft, err := h.Drafts.Write(ctx, drafting.Request{
		OrgID:    caller.OrgID,
		Words:    b.Description,
		Name:     b.Name,
		Origin:   drafting.Origin(b.Source),
		Template: b.Template,
	})
	if err != nil {
		return nil, err
	}
	if b.Name == "" {
		if draft, err = h.underFreeName(ctx, caller, draft); err != nil {
			return nil, err
		}
	}
	stored, err := shown(h.Policies.Create(ctx, caller, policy.Source{Text: draft.Text, Format: document.YAML}))
	if err != nil {
		return nil, err
	}
	body := DraftedBody{
		PolicyBody: stored.Body,
		Source:     draft.Origin,
		Template:   draft.Template,
		Tests:      draft.Tests,
		Findings:   policyFindingBodies(draft.Findings.Findings),
	}
	body.Explanation = draft.Explanation // also says where it comes from
	body.TestResults, body.Passed = draftedTests(draft.Results)
	return &versioned[DraftedBody]{ETag: stored.ETag, Body: body}, nil
}

// underFreeName gives a draft without a name one that is not taken.
func (h *Handlers) underFreeName(
	ctx context.Context, caller principal.Principal, draft drafting.Draft,
) (drafting.Draft, error) {
	name, err := h.Policies.FreeName(ctx, caller, draft.Document.Name)
	if err != nil || name == draft.Document.Name {
		return draft, err
	}
	return draft.Named(name)
}

func draftedTests(results []policytest.Result) (bodies []DraftedTestBody, passed bool) {
	bodies, passed = make([]DraftedTestBody, len(results)), true
	for i, r := range results {
		bodies[i] = DraftedTestBody{Name: r.Test.Name, Passed: r.Passed(), Failures: r.Failures}
		passed = passed && r.Passed()
	}
	return bodies, passed
}

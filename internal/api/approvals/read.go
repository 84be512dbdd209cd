package approvals

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/api/policies"
	"writ/internal/api/route"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/page"
	"writ/internal/principal"
)

func (h *Handlers) mountReads(r *route.Router) {
	route.Handle(r, route.Get("/delegation/requests", "Requests for approval, newest first").
		For(route.Person).Needs(principal.ReadTelemetry), h.list)
	route.Handle(r, route.Get("/delegation/requests/{id}", "A request with everything that helps to answer it").
		For(route.Person).Needs(principal.ReadTelemetry), h.get)
}

type listApprovalsInput struct {
	route.OrganizationQuery
	route.PageInput
	Status    string    `query:"status" enum:"pending,approved,rejected,cancelled,expired" doc:"Only requests in this state."`
	Tool      string    `query:"tool" maxLength:"200" doc:"Only calls of this tool."`
	AgentID   string    `query:"agentId" maxLength:"200" doc:"Only calls of this agent."`
	KeyID     string    `query:"keyId" maxLength:"200" doc:"Only calls with this key."`
	Kind      string    `query:"kind" enum:"hold,ask" doc:"Only requests to approvers, or to the person the agent works for."`
	Risk      string    `query:"risk" enum:"low,medium,high,critical" doc:"Only requests of this risk."`
	Requester string    `query:"requester" maxLength:"254" doc:"Only calls for this person's e-mail."`
	Since     time.Time `query:"since" doc:"Only requests opened then or later."`
	Before    time.Time `query:"before" doc:"Only requests opened earlier."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listApprovalsInput,
) (page.Page[ApprovalBody], error) {
	for field, text := range map[string]string{
		"tool": in.Tool, "agentId": in.AgentID, "keyId": in.KeyID, "requester": in.Requester,
	} {
		if err := requirePlain(field, text); err != nil {
			return page.Page[ApprovalBody]{}, err
		}
	}
	found, err := h.Approvals.List(ctx, caller, approval.Filter{
		Status:    approval.Status(in.Status),
		Tool:      in.Tool,
		AgentID:   in.AgentID,
		KeyID:     in.KeyID,
		Kind:      approval.Kind(in.Kind),
		RiskLevel: in.Risk,
		Requester: strings.TrimSpace(in.Requester),
		From:      in.Since,
		Until:     in.Before,
		Cursor:    in.Cursor,
		Limit:     in.Limit,
	})
	if err != nil {
		return page.Page[ApprovalBody]{}, err
	}
	return route.MapPage(found, func(r approval.Request) ApprovalBody { return approvalBody(caller, r) }), nil
}

// requirePlain refuses text that no database takes.
func requirePlain(field, text string) error {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fault.Field(field, "must be text without control characters")
	}
	return nil
}

// ApprovalInput is the path of a route about one request.
type ApprovalInput struct {
	route.OrganizationQuery
	ID string `path:"id" doc:"The request."`
}

// ShownApprovalBody is a request with everything that helps to answer it.
type ShownApprovalBody struct {
	ApprovalBody
	Scopes     []ScopeWordsBody   `json:"scopes" nullable:"false" doc:"What each possible approval would permit."`
	PolicyName string             `json:"policyName,omitempty" doc:"The policy that requires an approval."`
	PolicyRule *policies.RuleBody `json:"policyRule" doc:"Its rule, in the version that decided; null: a client asked before any decision, or it was a default."`
	PlanGoal   string             `json:"planGoal,omitempty" doc:"The goal of the call's plan."`
	PlanErased bool               `json:"planErased,omitempty" doc:"The text of the call's plan was erased: its goal and steps are gone."`
	PlanSteps  []PlannedStepBody  `json:"planSteps" nullable:"false" doc:"The steps of the plan that have this tool."`
	History    HistoryBody        `json:"history" doc:"What was decided before about this tool."`
	Votes      []VoteBody         `json:"votes" nullable:"false" doc:"The people who have approved so far."`
}

// VoteBody is one person's approval.
type VoteBody struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"`
}

// ScopeWordsBody is what an approval would permit.
type ScopeWordsBody struct {
	Kind  approval.ScopeKind `json:"kind" enum:"once,session,minutes,pattern,plan"`
	Words string             `json:"words"`
}

// PlannedStepBody is a step of a plan.
type PlannedStepBody struct {
	Index       int      `json:"index" doc:"From 0."`
	Server      string   `json:"server"`
	Tool        string   `json:"tool"`
	Description string   `json:"description,omitempty"`
	Fixed       []string `json:"fixed" nullable:"false" doc:"The arguments whose values the plan fixes."`
}

// HistoryBody is what was decided before.
type HistoryBody struct {
	Decisions []PastDecisionBody `json:"decisions" nullable:"false" doc:"The latest, newest first."`
}

// PastDecisionBody is an earlier decision; the log has the rest.
type PastDecisionBody struct {
	Index    int64     `json:"index" doc:"Of its entry in the audit log."`
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent,omitempty"`
	Decision string    `json:"decision" doc:"allow, deny, hold or ask; altered where the log does not prove it."`
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, in *ApprovalInput) (ShownApprovalBody, error) {
	request, err := h.Approvals.Get(ctx, caller, in.ID)
	if err != nil {
		return ShownApprovalBody{}, err
	}
	body := ShownApprovalBody{
		ApprovalBody: approvalBody(caller, request),
		Scopes:       []ScopeWordsBody{},
		PlanSteps:    []PlannedStepBody{},
		Votes:        []VoteBody{},
	}
	for _, scope := range request.Scopes() {
		body.Scopes = append(body.Scopes, ScopeWordsBody{scope.Kind, scope.Words(request)})
	}
	for _, vote := range request.Votes {
		body.Votes = append(body.Votes, VoteBody(vote))
	}
	for _, add := range []func(context.Context, principal.Principal, approval.Request, *ShownApprovalBody) error{
		h.addRule, h.addPlan, h.addHistory,
	} {
		if err := add(ctx, caller, request, &body); err != nil {
			return ShownApprovalBody{}, err
		}
	}
	return body, nil
}

// addRule adds the rule that requires an approval, as it was when it decided.
func (h *Handlers) addRule(
	ctx context.Context, caller principal.Principal, r approval.Request, to *ShownApprovalBody,
) error {
	if !database.IsID(r.PolicyID) || !caller.May(principal.ReadPolicies) {
		return nil // not a policy's
	}
	full, err := h.Policies.Get(ctx, caller, r.PolicyID, r.PolicyVersion)
	if fault.Is(err, fault.NotFound) {
		return nil // deleted since
	}
	if err != nil {
		return err
	}
	document, err := policies.DocumentOf(full.Document)
	if err != nil {
		return err
	}
	to.PolicyName = document.Name
	for _, rule := range document.Rules {
		if rule.ID == r.Rule {
			to.PolicyRule = &rule
		}
	}
	return nil
}

// addPlan adds the plan that the agent declared.
func (h *Handlers) addPlan(
	ctx context.Context, caller principal.Principal, r approval.Request, to *ShownApprovalBody,
) error {
	if r.PlanID == "" || !caller.May(principal.ReadPayloads) {
		return nil
	}
	view, err := h.Intent.Get(ctx, caller, r.PlanID)
	if fault.Is(err, fault.NotFound) {
		return nil // a client may send any id
	}
	if err != nil {
		return err
	}
	if view.Binding.KeyID != r.KeyID {
		return nil // a plan of another key proves nothing about this call
	}
	if to.PlanErased = view.Plan == nil; to.PlanErased {
		return nil // also while the plan is live and still judges calls
	}
	steps, err := h.Intent.Steps(ctx, caller, r.PlanID)
	if to.PlanErased = fault.Is(err, fault.NotFound); to.PlanErased {
		return nil // erased since it was read
	}
	if err != nil {
		return err
	}
	to.PlanGoal = view.Goal
	for i, step := range steps {
		if !isStepOf(r, i, step) || len(to.PlanSteps) == maxShownSteps {
			continue
		}
		to.PlanSteps = append(to.PlanSteps, plannedStepBody(i, step))
	}
	return nil
}

func plannedStepBody(index int, step plan.Step) PlannedStepBody {
	body := PlannedStepBody{
		Index:       index,
		Server:      step.Server,
		Tool:        step.Tool,
		Description: step.Description,
		Fixed:       []string{},
	}
	for _, given := range step.Given {
		body.Fixed = append(body.Fixed, given.Key)
	}
	return body
}

// isStepOf reports whether the request is about the step: the one that the decision
// names, else any with its tool.
func isStepOf(r approval.Request, i int, step plan.Step) bool {
	if r.Step >= 0 {
		return i == r.Step
	}
	return step.Server == r.Server && strings.EqualFold(step.Tool, r.Tool) || step.Joins(r.Server, r.Tool)
}

// How much is shown beside a request.
const (
	maxShownSteps = 20
	maxHistory    = 10
)

// addHistory adds the latest decisions about the tool, of the same agent where
// one is named.
func (h *Handlers) addHistory(
	ctx context.Context, _ principal.Principal, r approval.Request, to *ShownApprovalBody,
) error {
	past := []PastDecisionBody{}
	for _, name := range namesOf(r) {
		found, err := h.Audit.Entries(ctx, audit.LogOf(r.OrgID), audit.Filter{
			Action: decision.Action,
			Tool:   name,
			Agent:  r.AgentID,
			Until:  r.CreatedAt,
			Limit:  maxHistory,
		})
		if err != nil {
			return err
		}
		for _, e := range found.Items {
			if e.Altered.Record {
				past = append(past, PastDecisionBody{
					Index: e.Index, Time: database.Time(e.Time), Decision: decision.Altered,
				})
				continue
			}
			record, err := e.Parse()
			if err != nil {
				return err
			}
			past = append(past, PastDecisionBody{
				Index: e.Index, Time: database.Time(e.Time), Agent: record.Agent, Decision: record.Verdict,
			})
		}
	}
	slices.SortFunc(past, func(a, b PastDecisionBody) int { return cmp.Compare(b.Index, a.Index) })
	to.History.Decisions = past[:min(len(past), maxHistory)]
	return nil
}

// namesOf are the names of the tool in the log: older entries have the server in front of
// it, where the client put it there.
func namesOf(r approval.Request) []string {
	names := []string{r.Tool}
	if r.Server != "" {
		names = append(names, r.Server+"__"+r.Tool, "mcp__"+r.Server+"__"+r.Tool, "mcp_"+r.Server+"_"+r.Tool,
			r.Server+"."+r.Tool)
	}
	return names
}

package api

import (
	"context"
	"slices"
	"strings"

	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/policy/clientpolicy"
	"writ/internal/principal"
	"writ/internal/toolcall"
)

// callParties are whom a call or plan says it is for. All of it is the client's
// word.
type callParties struct{ agentID, userID, email string }

// foresee tells what policies say about the tools of a plan, for SDKs that judge
// by themselves. It is advice, so it never fails: where it is not known, every
// tool needs the server.
func (a *API) foresee(
	ctx context.Context, caller principal.Principal, p *plan.Plan, widened []int, of callParties,
) (clientpolicy.Validation, []clientpolicy.SnapshotEntry) {
	tools := toolsOf(p)
	snapshot, err := a.Policies.Snapshot(ctx, caller.OrgID)
	if err != nil {
		a.Logger.WarnContext(ctx, "policies could not be told to a client; it is told to ask", "requestId",
			requestOf(ctx).ID, "error", err)
		return nothingForeseen(tools)
	}
	calls, err := a.possibleCallers(ctx, caller, of)
	if err != nil {
		return nothingForeseen(tools)
	}
	validation, entries := clientpolicy.ForPlan(snapshot.Set, calls[0], tools)
	for _, call := range calls[1:] {
		stricter, _ := clientpolicy.ForPlan(snapshot.Set, call, tools)
		validation = stricterOf(validation, stricter)
	}
	if len(widened) > 0 {
		var added []clientpolicy.Tool
		for _, i := range widened {
			added = append(added, tools[i])
		}
		pending, _ := nothingForeseen(added)
		validation = stricterOf(validation, pending)
	}
	for i := range entries {
		rules := &entries[i].Rules
		rules.AllowedTools = slices.DeleteFunc(rules.AllowedTools, func(tool string) bool {
			return !slices.Contains(validation.AllowedTools, tool)
		})
	}
	return validation, entries
}

func toolsOf(p *plan.Plan) []clientpolicy.Tool {
	var tools []clientpolicy.Tool
	for _, step := range p.Steps {
		tools = append(tools, clientpolicy.Tool{Server: step.Server, Name: step.Tool})
	}
	return tools
}

// possibleCallers are the callers that a decision takes the strictest answer of:
// whom the client names together with whom the key belongs to, and the key alone.
func (a *API) possibleCallers(
	ctx context.Context, caller principal.Principal, of callParties,
) ([]toolcall.Call, error) {
	owner, err := a.Organizations.PartyOf(ctx, caller.OrgID, caller.UserID, "")
	if err != nil {
		return nil, err
	}
	named, err := a.namedUser(ctx, caller, of)
	if err != nil {
		return nil, err
	}
	call := toolcall.Call{
		Agent: toolcall.Agent{ID: stated(of.agentID)}, User: named,
		Org:         toolcall.Org{ID: caller.OrgID, Name: owner.OrgName},
		Key:         toolcall.Key{ID: caller.KeyID, OwnerID: caller.UserID, OwnerRole: string(owner.Member.Role)},
		Environment: caller.Environment, Now: a.Database.Now(),
	}
	alone := call
	alone.Key.Alone, alone.User.Role = true, call.Key.OwnerRole
	return []toolcall.Call{call, alone}, nil
}

// namedUser is the member a client names, by e-mail or id; nobody is none.
func (a *API) namedUser(ctx context.Context, caller principal.Principal, of callParties) (toolcall.User, error) {
	address, id := of.email, stated(of.userID)
	if address == "" && strings.Contains(id, "@") { // SDKs send the e-mail as the id once they know it
		address = id
	}
	if address == "" && id == "" {
		id = caller.UserID
	}
	party, err := a.Organizations.PartyOf(ctx, caller.OrgID, id, address)
	if fault.Is(err, fault.NotFound) {
		return toolcall.User{Email: address}, nil
	}
	return toolcall.User{ID: party.Member.UserID, Email: party.Member.Email, Role: string(party.Member.Role)}, err
}

// nothingForeseen denies every tool until the server is asked.
func nothingForeseen(tools []clientpolicy.Tool) (clientpolicy.Validation, []clientpolicy.SnapshotEntry) {
	v := clientpolicy.Validation{
		AllowedTools:             []string{},
		DeniedTools:              []string{},
		DeniedReasons:            []string{},
		DefaultEnforcementAction: wordHold,
	}
	for _, tool := range tools {
		if !slices.Contains(v.DeniedTools, tool.Name) {
			v.DeniedTools = append(v.DeniedTools, tool.Name)
			v.DeniedReasons = append(v.DeniedReasons, tool.Name+": needs server enforcement")
		}
	}
	return v, []clientpolicy.SnapshotEntry{}
}

// stricterOf denies what either denies.
func stricterOf(a, b clientpolicy.Validation) clientpolicy.Validation {
	union := func(a, b []string) []string {
		for _, text := range b {
			if !slices.Contains(a, text) {
				a = append(a, text)
			}
		}
		return a
	}
	blocks := func(v clientpolicy.Validation) bool {
		return len(v.DeniedTools) > 0 && v.DefaultEnforcementAction == wordBlock
	}
	merged := clientpolicy.Validation{
		AllowedTools: slices.DeleteFunc(a.AllowedTools, func(tool string) bool {
			return slices.Contains(b.DeniedTools, tool)
		}),
		DeniedTools: union(a.DeniedTools, b.DeniedTools), DeniedReasons: union(a.DeniedReasons, b.DeniedReasons),
		DefaultEnforcementAction: wordHold,
	}
	if blocks(a) || blocks(b) || len(merged.DeniedTools) == 0 {
		merged.DefaultEnforcementAction = wordBlock
	}
	return merged
}

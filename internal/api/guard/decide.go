package guard

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/guard"
	"writ/internal/guard/message"
	"writ/internal/principal"
	"writ/internal/secret"
)

const decided = decision.Action

// reservedPrefix begins the names of what is no tool of a server.
const reservedPrefix = "mcp:"

// maxProblem bounds what a proxy says of why it cannot carry a call out, in bytes.
const maxProblem = 500

// read reads the body of a request by hand.
func (h *Handlers) read(r *http.Request, to any) error {
	body, release, err := h.Bodies.Read(r, h.MaxBytes)
	defer release()
	if err != nil {
		return err
	}
	if err := route.ReadObject(body, to); err != nil {
		return fault.Field("body", "%s", route.Describe(err))
	}
	return nil
}

func writeJSON(w http.ResponseWriter, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a proxy that is gone cannot be told; what happened is recorded
	return nil
}

// decide decides about a call with the agent's own rights. How the server is reached is found out here: what the proxy
// says of it may be old.
func (h *Handlers) decide(w http.ResponseWriter, r *http.Request, _ principal.Principal) error {
	a, err := h.agentOf(r)
	if err != nil {
		return err
	}
	var in message.ProxyCall
	if err := h.read(r, &in); err != nil {
		return err
	}
	if in.ProofRule < 0 || in.ProofRule > int(enforcement.ProofOptional) {
		return fault.Field("proofRule", "must be 0 to %d", enforcement.ProofOptional)
	}
	if len(in.Problem) > maxProblem {
		return fault.Field("problem", "must be at most %d bytes", maxProblem)
	}
	if err := in.CheckDelegation(); err != nil {
		return err
	}
	in.AgentID = a.actsAs(in.AgentID)
	request := in.Request()
	token := secret.Token("prt_")
	switch err := a.refuses(request.Server); {
	case request.Carried != nil:
		h.carry(r.Context(), a, &request, token)
	case err != nil:
		return err
	}
	d := h.Enforcement.Decide(r.Context(), a.Principal, request)
	answer := message.AnswerOf(d)
	if request.Carried != nil && d.Allowed() {
		answer.ReportToken = token.Reveal()
	}
	return writeJSON(w, answer)
}

// carry completes the request for a call that the proxy would carry out.
func (h *Handlers) carry(ctx context.Context, a agent, request *enforcement.Request, token secret.Text) {
	tool := request.Tool
	if strings.HasPrefix(tool, reservedPrefix) {
		tool = ""
	}
	reach, err := h.Servers.ReachOf(ctx, a.OrgID, request.Server, tool)
	if refused := a.refuses(request.Server); refused != nil {
		err = refused
	}
	own := request.Carried.OwnCredentials && reach.CallerCredentials
	if err == nil && reach.ByConsent && !own {
		// A call that nobody has consented to is a decision of the log, which says how to consent.
		_, err = h.UserToken(ctx, a.OrgID, a.UserID, reach)
	}
	if err != nil && request.Carried.Problem == "" {
		request.Carried.Problem = reasonOf(err)
	}
	settings, stated, err := h.Policies.ProxySettings(ctx, a.Principal)
	if err != nil || stated && settings.RequireProofs {
		// As if the manifest demanded all that it may demand, where nobody knows what it does.
		if request.Carried.ProofRequired == enforcement.ProofByAgent {
			request.Carried.ProofRequired = enforcement.ProofDemanded
		}
	}
	request.Carried.Recorded = func(ctx context.Context, tx *database.Tx, d enforcement.Recorded) error {
		return h.Guard.Record(ctx, tx, guard.Decision{
			ID:          d.ID,
			OrgID:       a.OrgID,
			KeyID:       a.KeyID,
			UserID:      a.UserID,
			ReportHash:  secret.Hash(token.Reveal()),
			AgentID:     d.AgentID,
			Verdict:     d.Verdict.String(),
			ServerID:    reach.ID,
			Server:      reach.Name, // what the agent sent may be anything
			Registered:  reach.UpdatedAt,
			ApprovalID:  d.ApprovalID,
			Obligations: d.Oblige,
		})
	}
}

// reasonOf is what an agent may know of why a server cannot be reached.
func reasonOf(err error) string {
	if kind := fault.KindOf(err); kind == fault.Internal || kind == fault.Unavailable {
		return "the server could not find out how to reach the MCP server: try again"
	}
	return err.Error()
}

type decisionInput struct {
	AgentInput
	ID string `path:"decisionId" doc:"The decision."`
}

func (h *Handlers) obligations(
	ctx context.Context, _ principal.Principal, in *decisionInput,
) (message.ProxyObligations, error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return message.ProxyObligations{}, err
	}
	d, err := h.Guard.Find(ctx, a.Principal, in.ID)
	if err != nil {
		return message.ProxyObligations{}, err
	}
	answer := message.ProxyObligations{}
	if stated := message.ObligationsOf(d.Obligations); stated != nil {
		answer = *stated
	}
	answer.DecisionID, answer.Decision, answer.ApprovalID = d.ID, d.Verdict, d.ApprovalID
	return answer, nil
}

// secret gives the secret of the server that a decision allows to call. Everything is looked at again: the agent may
// have been stopped and the server registered otherwise since.
func (h *Handlers) secret(
	ctx context.Context, _ principal.Principal, in *decisionInput,
) (answer message.ProxySecret, err error) {
	a, err := h.actFor(ctx, in.AgentInput)
	if err != nil {
		return answer, err
	}
	d, err := h.Guard.Find(ctx, a.Principal, in.ID)
	if err != nil {
		return answer, err
	}
	if err := d.Releasable(h.Now()); err != nil {
		return answer, err
	}
	if err := a.refuses(d.Server); err != nil {
		return answer, err
	}
	if err := h.Enforcement.RefuseCaller(ctx, a.Principal, d.AgentID); err != nil {
		return answer, err
	}
	header, err := h.secretOf(ctx, a, d)
	if err != nil {
		return answer, err
	}
	// Last, because it is given once: what fails before may be tried again.
	if err := h.Guard.Release(ctx, a.Principal, d.ID); err != nil {
		return answer, err
	}
	answer.Headers = []message.ProxyHeader{}
	for name, values := range header {
		for _, value := range values {
			answer.Headers = append(answer.Headers, message.ProxyHeader{Name: name, Value: value})
		}
	}
	return answer, nil
}

func (h *Handlers) secretOf(ctx context.Context, a agent, d guard.Decision) (http.Header, error) {
	reach, err := h.Servers.ReachOf(ctx, a.OrgID, d.Server, "")
	if err != nil {
		return nil, err
	}
	if reach.ID != d.ServerID || !reach.UpdatedAt.Equal(d.Registered) {
		return nil, fault.New(fault.Conflict, "the MCP server is registered otherwise since: have the call decided again")
	}
	if reach.ByConsent {
		token, err := h.UserToken(ctx, a.OrgID, a.UserID, reach)
		if err != nil {
			return nil, err
		}
		return http.Header{"Authorization": {"Bearer " + token.Reveal()}}, nil
	}
	if !reach.HasSecret {
		return nil, fault.New(fault.NotFound, "the MCP server is registered without a secret")
	}
	return h.Servers.Credentials(reach)
}

// outcome records what came of a call, for the decision that allowed it.
func (h *Handlers) outcome(w http.ResponseWriter, r *http.Request, _ principal.Principal) error {
	d, err := h.Guard.FindReported(r.Context(), r.PathValue("decisionId"), r.Header.Get(message.ReportHeader))
	if err != nil {
		return err
	}
	if d.Verdict != "allow" {
		return fault.New(fault.Conflict, "the decision does not allow the call: nothing came of it")
	}
	var in message.ProxyOutcome
	if err := h.read(r, &in); err != nil {
		return err
	}
	if err := checkOutcome(&in); err != nil {
		return err
	}
	reported, err := h.Executions.ReportCarried(r.Context(), d.For(), in.Read(d.ID))
	if err != nil {
		return err
	}
	if in.SpentToken != "" {
		h.spend(r.Context(), d, in.SpentToken)
	}
	return writeJSON(w, message.ProxyReported{ID: reported.ID, Duplicate: reported.Duplicate})
}

// spend notes that a server refuses the token of a person, so that the next call has another. What cannot be noted now
// is refused and told again.
func (h *Handlers) spend(ctx context.Context, d guard.Decision, hash string) {
	reach, err := h.Servers.ReachOf(ctx, d.OrgID, d.Server, "")
	if err != nil || reach.ID != d.ServerID || !reach.ByConsent {
		return
	}
	token, err := h.UserToken(ctx, d.OrgID, d.UserID, reach)
	said, bad := hex.DecodeString(hash)
	if err != nil || bad != nil || !secret.SameHash(secret.Hash(token.Reveal()), said) {
		return // it has ended, or has another by now
	}
	_ = h.Spent(ctx, d.OrgID, d.UserID, reach, token)
}

// maxMarks bounds how many findings a report may make.
const maxMarks = 100

func checkOutcome(in *message.ProxyOutcome) error {
	statuses := []string{execution.Success, execution.Failed, execution.Unknown}
	kinds := []execution.Kind{execution.ResultInstructs, execution.ResultSecret}
	switch {
	case !slices.Contains(statuses, in.Status):
		return fault.Field("status", "must be %s", strings.Join(statuses, ", "))
	case in.Tool == "":
		return fault.Field("tool", "is required")
	case len(in.Marks) > maxMarks:
		return fault.Field("marks", "must be at most %d", maxMarks)
	}
	for _, mark := range in.Marks {
		if !slices.Contains(kinds, execution.Kind(mark.Kind)) || len(mark.Detail) > maxProblem {
			return fault.Field("marks", "must be %s or %s, with at most %d bytes of detail", kinds[0], kinds[1],
				maxProblem)
		}
	}
	return nil
}

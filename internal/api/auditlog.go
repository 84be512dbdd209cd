package api

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

const auditTag = "audit log"

func (a *API) mountAuditLog() {
	get := func(path, summary string) Route {
		return Route{
			Method:  http.MethodGet,
			Path:    "/audit-log" + path,
			Tag:     auditTag,
			Summary: summary,
			Mode:    JWT,
			Action:  principal.ReadTelemetry,
		}
	}
	handle(a, get("/entries", "Entries of the organization's log, newest first"), a.listEntries)
	handle(a, get("/entries/{index}", "An entry with the proof that it is in the log"), a.getEntry)
	handle(a, get("/checkpoint", "The signed checkpoint of the log as it is now"), a.getCheckpoint)
	handle(a, get("/key", "The public keys that checkpoints are verified with"), a.getCheckpointKeys)
	handle(a, get("/proof/inclusion", "The proof that an entry is in the log of so many entries"), a.getInclusion)
	handle(a, get("/proof/consistency", "The proof that the log of so many entries begins with an earlier one"),
		a.getConsistency)
	handle(a, get("/findings", "What does not fit together, newest first"), a.listFindings)
	a.mountExport(get("/export", "The whole log, to be verified offline by writ audit verify"))
	handle(a, Route{
		Method: http.MethodPost, Path: "/audit-log/entries/{index}/erase", Tag: auditTag,
		Summary: "Erase the payload of an entry; its proof stays",
		Mode:    JWT, Action: principal.ErasePayloads, Audit: "payload.erased", Status: http.StatusNoContent,
	}, a.erasePayload)
}

// EntryBody is an entry of the log.
type EntryBody struct {
	Index    int64          `json:"index" doc:"Number of the entry, from 0."`
	Time     time.Time      `json:"time"`
	Action   string         `json:"action" doc:"What happened, in the past tense." example:"call.decided"`
	Actor    ledger.Actor   `json:"actor" doc:"Who did it."`
	Subject  ledger.Subject `json:"subject" doc:"What it was done to."`
	Agent    string         `json:"agent,omitzero"`
	Tool     string         `json:"tool,omitzero"`
	Decision string         `json:"decision,omitzero" doc:"allow, deny, hold or ask, of a decision."`
	Plan     string         `json:"plan,omitzero"`
	Record   string         `json:"record" doc:"The canonical JSON that the leaf is the hash of, byte for byte."`
	Leaf     string         `json:"leaf" doc:"RFC 6962 leaf hash of record, hex."`
	Payload  *storedObject  `json:"payload" doc:"null where there is none, it was erased, or the caller may not read payloads."`
	Salt     string         `json:"salt,omitzero" doc:"Hex. HMAC-SHA256 of payload under it is the record's payload."`
}

func entryBody(caller principal.Principal, e audit.Stored) (EntryBody, error) {
	r, err := e.Parse()
	if err != nil {
		return EntryBody{}, err
	}
	b := EntryBody{
		Index:    e.Index,
		Time:     database.Time(e.Time),
		Action:   r.Action,
		Actor:    r.Actor,
		Subject:  r.Subject,
		Agent:    r.Agent,
		Tool:     r.Tool,
		Decision: r.Verdict,
		Plan:     r.Plan,
		Record:   e.Record,
		Leaf:     hex.EncodeToString(e.Leaf[:]),
	}
	if e.Payload != "" && caller.May(principal.ReadPayloads) {
		payload := storedObject(e.Payload)
		b.Payload, b.Salt = &payload, hex.EncodeToString(e.Salt)
	}
	return b, nil
}

type listEntriesInput struct {
	OrganizationQuery
	PageInput
	From     time.Time `query:"from" doc:"Recorded then or later."`
	Until    time.Time `query:"until" doc:"Recorded before."`
	Agent    string    `query:"agent" doc:"Decisions and executions of this agent."`
	Tool     string    `query:"tool" doc:"Decisions and executions of this tool."`
	Decision string    `query:"decision" enum:"allow,deny,hold,ask" doc:"Decisions with this answer."`
	Plan     string    `query:"plan" doc:"Decisions and executions under this plan."`
	Action   string    `query:"action" doc:"Entries of this action. Decisions are found by the filters above."`
	Actor    string    `query:"actor" doc:"Changes by this person or key."`
}

type entriesOutput struct{ Body page.Page[EntryBody] }

func (a *API) listEntries(
	ctx context.Context, caller principal.Principal, in *listEntriesInput,
) (*entriesOutput, error) {
	found, err := a.Audit.Entries(ctx, caller.OrgID, audit.Filter{
		From:    in.From,
		Until:   in.Until,
		Agent:   in.Agent,
		Tool:    in.Tool,
		Verdict: in.Decision,
		Plan:    in.Plan,
		Action:  in.Action,
		Actor:   in.Actor,
		Cursor:  in.Cursor,
		Limit:   in.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := &entriesOutput{
		page.Page[EntryBody]{
			Items: make([]EntryBody, len(found.Items)), NextCursor: found.NextCursor, HasMore: found.HasMore,
		},
	}
	for i, e := range found.Items {
		if out.Body.Items[i], err = entryBody(caller, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// EntryInput is the path of a route about one entry.
type EntryInput struct {
	OrganizationQuery
	Index string `path:"index" doc:"Number of the entry, from 0."`
}

// noSuchEntry is the one answer for what is not there, a number or not.
func noSuchEntry() error { return fault.New(fault.NotFound, "no such entry") }

func (in *EntryInput) number() (int64, error) {
	n, err := strconv.ParseInt(in.Index, 10, 64)
	if err != nil || n < 0 {
		return 0, noSuchEntry()
	}
	return n, nil
}

// ProvedEntryBody is an entry with its proof.
type ProvedEntryBody struct {
	EntryBody
	Receipt ledger.Receipt `json:"receipt" doc:"The proof that the entry is in the log, as it is now."`
}

type entryOutput struct{ Body ProvedEntryBody }

func (a *API) getEntry(ctx context.Context, caller principal.Principal, in *EntryInput) (*entryOutput, error) {
	index, err := in.number()
	if err != nil {
		return nil, err
	}
	stored, receipt, err := a.Audit.Entry(ctx, caller.OrgID, index)
	if fault.Is(err, fault.NotFound) {
		return nil, noSuchEntry()
	}
	if err != nil {
		return nil, err
	}
	entry, err := entryBody(caller, stored)
	return &entryOutput{ProvedEntryBody{entry, receipt}}, err
}

type eraseInput struct {
	EntryInput
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Why; it is recorded." example:"request by the person concerned"`
	}
}

func (a *API) erasePayload(ctx context.Context, caller principal.Principal, in *eraseInput) (*struct{}, error) {
	index, err := in.number()
	if err != nil {
		return nil, err
	}
	if err = a.Audit.ErasePayload(ctx, caller, caller.OrgID, index, in.Body.Reason); fault.Is(err, fault.NotFound) {
		err = noSuchEntry()
	}
	return nil, err
}

// FindingBody is something that does not fit together.
type FindingBody struct {
	ID          string         `json:"id" format:"uuid"`
	Kind        execution.Kind `json:"kind" enum:"execution_without_decision,decision_without_outcome,sequence_gap"`
	FoundAt     time.Time      `json:"foundAt"`
	HappenedAt  time.Time      `json:"happenedAt" doc:"When the call was decided, or executed by the client's clock."`
	Index       int64          `json:"index" doc:"The entry of the log it is about."`
	KeyID       string         `json:"keyId"`
	AgentID     string         `json:"agentId,omitzero"`
	SessionID   string         `json:"sessionId,omitzero"`
	PlanID      string         `json:"planId,omitzero"`
	Tool        string         `json:"tool,omitzero"`
	DecisionID  string         `json:"decisionId,omitzero"`
	ExecutionID string         `json:"executionId,omitzero"`
	FirstSeq    int64          `json:"firstSeq,omitzero" doc:"Of a gap: the first number that is missing."`
	LastSeq     int64          `json:"lastSeq,omitzero" doc:"Of a gap: the last one."`
	Missing     int64          `json:"missing,omitzero" doc:"Of a gap: how many still are."`
	ResolvedAt  *time.Time     `json:"resolvedAt" doc:"When what was missing came after all; null: it has not."`
}

type listFindingsInput struct {
	OrganizationQuery
	PageInput
	Kind string `query:"kind" enum:"execution_without_decision,decision_without_outcome,sequence_gap" doc:"Findings of this kind."`
	Open string `query:"open" enum:"true,false" doc:"true: only those that are not resolved."`
}

type findingsOutput struct{ Body page.Page[FindingBody] }

func (a *API) listFindings(
	ctx context.Context, caller principal.Principal, in *listFindingsInput,
) (*findingsOutput, error) {
	found, err := a.Executions.Findings(ctx, caller, execution.FindingFilter{
		Kind: execution.Kind(in.Kind), Open: in.Open == "true", Cursor: in.Cursor, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	return &findingsOutput{route.MapPage(found, func(f execution.Finding) FindingBody {
		return FindingBody{
			ID:          f.ID,
			Kind:        f.Kind,
			FoundAt:     f.FoundAt,
			HappenedAt:  f.HappenedAt,
			Index:       f.Position,
			KeyID:       f.KeyID,
			AgentID:     f.AgentID,
			SessionID:   f.SessionID,
			PlanID:      f.PlanID,
			Tool:        f.Tool,
			DecisionID:  f.DecisionID,
			ExecutionID: f.ExecutionID,
			FirstSeq:    f.FirstSeq,
			LastSeq:     f.LastSeq,
			Missing:     f.Missing,
			ResolvedAt:  f.ResolvedAt,
		}
	})}, nil
}

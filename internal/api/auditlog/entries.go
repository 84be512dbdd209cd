package auditlog

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// mountEntries serves the entries of a log.
func (h *Handlers) mountEntries(r *route.Router) {
	route.Handle(r, read(route.Get("/audit-log/entries", "Entries of the organization's log, newest first")),
		h.listEntries)
	route.Handle(r, read(route.Get("/audit-log/entries/{index}", "An entry with the proof that it is in the log")),
		h.getEntry)
}

func (h *Handlers) mountErasure(r *route.Router) {
	route.Handle(r, route.Post("/audit-log/entries/{index}/erase", "Erase the payload of an entry; its proof stays").
		For(route.Person).Needs(principal.ErasePayloads).Records("payload.erased").AsksAgain().
		Answers(http.StatusNoContent), h.erasePayload)
}

// EntryBody is an entry of the log.
type EntryBody struct {
	Index    int64               `json:"index" doc:"Number of the entry, from 0."`
	Time     time.Time           `json:"time"`
	Action   string              `json:"action" doc:"What happened, in the past tense." example:"call.decided"`
	Actor    ledger.Actor        `json:"actor" doc:"Who did it."`
	Subject  ledger.Subject      `json:"subject" doc:"What it was done to."`
	Agent    string              `json:"agent,omitzero"`
	Server   string              `json:"server,omitzero"`
	Tool     string              `json:"tool,omitzero"`
	Decision string              `json:"decision,omitzero" doc:"allow, deny, hold or ask, of a decision; altered where the log does not prove it."`
	Plan     string              `json:"plan,omitzero"`
	Session  string              `json:"session,omitzero"`
	Policy   string              `json:"policy,omitzero" doc:"What decided, of a decision."`
	Rule     string              `json:"rule,omitzero" doc:"Its rule."`
	Reason   string              `json:"reason,omitzero" doc:"Why, of a decision; absent where the payload is."`
	Record   string              `json:"record" doc:"The canonical JSON that the leaf is the hash of, byte for byte."`
	Leaf     string              `json:"leaf" doc:"RFC 6962 leaf hash of record, hex."`
	Payload  *route.StoredObject `json:"payload" doc:"null where there is none, it was erased, or the caller may not read payloads."`
	Altered  string              `json:"altered,omitzero" doc:"Why the entry must not be taken for what was recorded: somebody altered the database. Where the record itself is not proved, only index, time, action, record and leaf are given, as they are stored."`
	Salt     string              `json:"salt,omitzero" doc:"Hex. HMAC-SHA256 of payload under it is the record's payload."`
}

func entryBody(caller principal.Principal, e audit.Stored) (EntryBody, error) {
	if e.Altered.Record {
		return alteredBody(e), nil
	}
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
		Server:   r.Server,
		Tool:     r.Tool,
		Decision: r.Verdict,
		Plan:     r.Plan,
		Session:  r.Session,
		Policy:   r.Policy,
		Rule:     r.Rule,
		Record:   e.Record,
		Leaf:     hex.EncodeToString(e.Leaf[:]),
		Altered:  e.Altered.Why,
	}
	if e.Payload != "" && caller.May(principal.ReadPayloads) {
		payload := route.StoredObject(e.Payload)
		b.Payload, b.Salt = &payload, hex.EncodeToString(e.Salt)
		if b.Decision != "" {
			b.Reason = decision.ReasonOf(e.Payload)
		}
	}
	return b, nil
}

// alteredBody shows an entry whose record the log does not prove: what the record says is no fact, and only its text is
// given.
func alteredBody(e audit.Stored) EntryBody {
	b := EntryBody{
		Index:   e.Index,
		Time:    database.Time(e.Time),
		Action:  e.Action,
		Record:  e.Record,
		Leaf:    hex.EncodeToString(e.Leaf[:]),
		Altered: e.Altered.Why,
	}
	if decision.IsAction(e.Action) {
		b.Decision = decision.Altered
	}
	return b
}

type listEntriesInput struct {
	route.OrganizationQuery
	route.PageInput
	From     time.Time `query:"from" doc:"Recorded then or later."`
	Until    time.Time `query:"until" doc:"Recorded before."`
	Agent    string    `query:"agent" doc:"Decisions and executions of this agent."`
	Tool     string    `query:"tool" doc:"Decisions and executions of this tool."`
	Server   string    `query:"server" doc:"Decisions and executions of tools of this server."`
	Decision []string  `query:"decision" enum:"allow,deny,hold,ask" maxItems:"4" doc:"Decisions with this answer, or with any of several, separated by commas."`
	Plan     string    `query:"plan" doc:"Decisions and executions under this plan."`
	Session  string    `query:"session" doc:"Decisions and executions of this session."`
	Policy   string    `query:"policy" doc:"Refusals by this policy or part of Writ: deny, hold and ask, not allow."`
	Rule     string    `query:"rule" doc:"Refusals by this rule; beside policy."`
	Action   string    `query:"action" doc:"Entries of this action; call.decided for all decisions."`
	Actor    string    `query:"actor" doc:"Changes by this person or key; with action=call.decided or a filter above, its decisions."`
}

func (h *Handlers) listEntries(
	ctx context.Context, caller principal.Principal, in *listEntriesInput,
) (page.Page[EntryBody], error) {
	found, err := h.Audit.Entries(ctx, caller.OrgID, audit.Filter{
		From:     in.From,
		Until:    in.Until,
		Agent:    in.Agent,
		Tool:     in.Tool,
		Server:   in.Server,
		Verdicts: in.Decision,
		Plan:     in.Plan,
		Session:  in.Session,
		Policy:   in.Policy,
		Rule:     in.Rule,
		Action:   in.Action,
		Actor:    in.Actor,
		Cursor:   in.Cursor,
		Limit:    in.Limit,
	})
	if err != nil {
		return page.Page[EntryBody]{}, err
	}
	shown := route.MapPage(found, func(e audit.Stored) EntryBody {
		body, broken := entryBody(caller, e)
		err = errors.Join(err, broken)
		return body
	})
	return shown, err
}

// EntryInput is the path of a route about one entry.
type EntryInput struct {
	route.OrganizationQuery
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
	PayloadText string         `json:"payloadText,omitzero" doc:"The payload byte for byte, as salt and the record's payload are about it; absent where payload is null."`
	Receipt     ledger.Receipt `json:"receipt" doc:"The proof that the entry is in the log, as it is now."`
}

func (h *Handlers) getEntry(ctx context.Context, caller principal.Principal, in *EntryInput) (ProvedEntryBody, error) {
	index, err := in.number()
	if err != nil {
		return ProvedEntryBody{}, err
	}
	stored, receipt, err := h.Audit.Entry(ctx, caller.OrgID, index)
	if fault.Is(err, fault.NotFound) {
		return ProvedEntryBody{}, noSuchEntry()
	}
	if err != nil {
		return ProvedEntryBody{}, err
	}
	entry, err := entryBody(caller, stored)
	proved := ProvedEntryBody{EntryBody: entry, Receipt: receipt}
	if entry.Payload != nil {
		proved.PayloadText = stored.Payload
	}
	return proved, err
}

type eraseInput struct {
	EntryInput
	Body struct {
		Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Why; it is recorded." example:"request by the person concerned"`
	}
}

func (h *Handlers) erasePayload(ctx context.Context, caller principal.Principal, in *eraseInput) (route.None, error) {
	index, err := in.number()
	if err != nil {
		return route.None{}, err
	}
	if err = h.Audit.ErasePayload(ctx, caller, caller.OrgID, index, in.Body.Reason); fault.Is(err, fault.NotFound) {
		err = noSuchEntry()
	}
	return route.None{}, err
}

package traces

import (
	"context"
	"fmt"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// How many live tails may be open at a time. Each queries the database every second.
const (
	tailsPerUser         = 5
	tailsPerOrganization = 50
	tailsInTotal         = 200
)

func (h *Handlers) mountTail(r *route.Router) {
	h.tails = route.Slots{Each: []int{tailsPerUser, tailsPerOrganization}, Total: tailsInTotal}
	route.Stream[tailInput, TailEventBody](r, read(route.Get("/organization/{orgId}/observability/stream",
		"New traces and decisions as they come, as server-sent events; the header Last-Event-ID resumes")),
		&h.tails, h.tail)
}

// OpenTails is how many live tails are open.
func (h *Handlers) OpenTails() int { return h.tails.Used() }

// TailEventBody is the data of an event of a live tail: a trace or a decision.
type TailEventBody struct {
	Trace    *TailedTraceBody    `json:"trace,omitzero" doc:"Of the events trace and growth."`
	Decision *TailedDecisionBody `json:"decision,omitzero" doc:"Of the event decision."`
}

type tailInput struct {
	route.OrgInput
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that was seen. Absent: what comes from now on."`
	After       string `query:"after" maxLength:"100" doc:"The same, for clients that cannot send the header, which wins."`
	Only        string `query:"only" enum:"traces,decisions" doc:"Shows only these."`
	AgentID     string `query:"agentId" maxLength:"500" doc:"Of exactly this agent."`
	SessionID   string `query:"sessionId" maxLength:"500" doc:"Of this session."`
	Tool        string `query:"tool" maxLength:"500" doc:"Decisions about this tool, and traces with a new span of it."`
	Status      string `query:"status" enum:"ok,error,denied" doc:"Traces of this status; no decisions."`
	Name        string `query:"name" maxLength:"200" doc:"Traces of exactly this name; no decisions."`
	Decision    string `query:"decision" enum:"allow,deny,hold,ask" doc:"Decisions with this verdict; no traces."`
	PlanID      string `query:"planId" maxLength:"500" doc:"Decisions under this plan; no traces."`
}

// wants says which of the two are shown: a filter that one of them does not have leaves that one out.
func (in *tailInput) wants() (traces, decisions bool, err error) {
	traces = in.Only != "decisions" && in.Decision+in.PlanID == ""
	decisions = in.Only != "traces" && in.Status+in.Name == ""
	if !traces && !decisions {
		return false, false, fault.Field("only",
			"nothing passes these filters: status and name are of traces, decision and planId of decisions")
	}
	return traces, decisions, nil
}

// tail begins the feed of what an organization receives and decides.
func (h *Handlers) tail(ctx context.Context, caller principal.Principal, in *tailInput) (route.Feed, error) {
	traces, decisions, err := in.wants()
	if err != nil {
		return nil, err
	}
	f := &tailFeed{h: h, orgID: caller.OrgID, in: in, decisions: decisions}
	if in.LastEventID+in.After == "" {
		return f, f.beginNow(ctx, traces)
	}
	return f, f.resume(ctx, traces)
}

// tailFeed is what an organization receives and decides, as far as it passes the reader's filters.
type tailFeed struct {
	h     *Handlers
	orgID string
	in    *tailInput

	traces *telemetry.Follower // nil: none are shown
	cursor telemetry.Cursor    // of the last trace that was shown

	decisions bool
	index     int64 // in the audit log, of the first entry that was not read
	epoch     int64 // of the log
}

func (f *tailFeed) arrivals() telemetry.ArrivalFilter {
	return telemetry.ArrivalFilter{
		AgentID:   f.in.AgentID,
		SessionID: strings.ToLower(f.in.SessionID),
		Name:      f.in.Name,
		Status:    f.in.Status,
		Tool:      f.in.Tool,
	}
}

// beginNow begins behind all that is there.
func (f *tailFeed) beginNow(ctx context.Context, traces bool) (err error) {
	f.cursor = telemetry.Cursor{At: f.h.Database.Now()}
	if traces {
		if f.traces, err = f.h.Telemetry.Follow(ctx, f.orgID, f.arrivals()); err != nil {
			return err
		}
		f.cursor = f.traces.Cursor()
	}
	head, err := audit.ReadHead(ctx, f.h.Database, audit.LogOf(f.orgID))
	f.index, f.epoch = head.Size, head.Epoch
	return err
}

// resume begins where the reader was. A restored server may have less than it showed before, and other decisions
// since.
func (f *tailFeed) resume(ctx context.Context, traces bool) error {
	if err := f.readPosition(); err != nil {
		return err
	}
	if now := f.h.Database.Now(); f.cursor.At.After(now) {
		f.cursor = telemetry.Cursor{At: now}
	}
	if traces {
		f.traces = f.h.Telemetry.Resume(f.orgID, f.arrivals(), f.cursor)
	}
	head, err := audit.ReadHead(ctx, f.h.Database, audit.LogOf(f.orgID))
	if err != nil {
		return err
	}
	f.index = min(f.index, head.Size)
	if f.epoch != head.Epoch {
		restored, err := audit.LastRestore(ctx, f.h.Database, audit.LogOf(f.orgID))
		if err != nil {
			return err
		}
		f.index, f.epoch = min(f.index, restored), head.Epoch
	}
	return nil
}

// Position is the receipt and row of the last trace, and the log's epoch and next index.
func (f *tailFeed) Position() string {
	return fmt.Sprintf("%d.%d.%d.%d", max(f.cursor.At.UnixMicro(), 0), f.cursor.Row, f.epoch, f.index)
}

// readPosition reads back what Position gave.
func (f *tailFeed) readPosition() error {
	name, text := "Last-Event-ID", f.in.LastEventID
	if text == "" {
		name, text = "after", f.in.After
	}
	var at int64
	_, err := fmt.Sscanf(text, "%d.%d.%d.%d", &at, &f.cursor.Row, &f.epoch, &f.index)
	f.cursor.At = time.UnixMicro(at)
	if err != nil || min(f.cursor.Row, f.epoch, f.index) < 0 || f.Position() != text {
		return fault.Field(name, "must be the id of an event of this stream")
	}
	return nil
}

// Changed is nil: ingest does nothing for those who watch.
func (f *tailFeed) Changed() <-chan struct{} { return nil }

// Next reads what has come since.
func (f *tailFeed) Next(ctx context.Context) ([]route.Event, bool, error) {
	traces, moreTraces, err := f.nextTraces(ctx)
	if err != nil {
		return nil, false, err
	}
	decisions, moreDecisions, err := f.nextDecisions(ctx)
	return append(traces, decisions...), moreTraces || moreDecisions, err
}

func (f *tailFeed) nextTraces(ctx context.Context) (events []route.Event, more bool, err error) {
	if f.traces == nil {
		return nil, false, nil
	}
	arrived, more, err := f.traces.Next(ctx, route.EventsAtOnce)
	if err != nil {
		return nil, false, err
	}
	for _, a := range arrived {
		if a.Cursor.Compare(f.cursor) > 0 { // else it was received before what was shown already
			f.cursor = a.Cursor
		}
		if a.Own() && f.in.Only != "traces" { // the decision it was made of is shown
			continue
		}
		kind := "trace"
		if a.Grew {
			kind = "growth"
		}
		events = append(events, route.Event{Kind: kind, ID: f.Position(), Body: func(caller principal.Principal) any {
			return TailEventBody{Trace: tailedTrace(caller, a)}
		}})
	}
	f.cursor = f.traces.Cursor()
	return events, more, nil
}

func (f *tailFeed) nextDecisions(ctx context.Context) (events []route.Event, more bool, err error) {
	if !f.decisions {
		return nil, false, nil
	}
	head, err := audit.ReadHead(ctx, f.h.Database, audit.LogOf(f.orgID))
	if err != nil || head.Size <= f.index {
		return nil, false, err
	}
	found, err := decision.Read(ctx, f.h.Database, f.orgID, f.index, route.EventsAtOnce)
	if err != nil {
		return nil, false, err
	}
	for _, d := range found {
		f.index = d.Index + 1
		if f.passes(&d) {
			events = append(events, route.Event{
				Kind: "decision", ID: f.Position(), Body: func(caller principal.Principal) any {
					return TailEventBody{Decision: tailedDecision(caller, &d)}
				},
			})
		}
	}
	if more = len(found) == route.EventsAtOnce; !more {
		f.index = max(f.index, head.Size) // the other entries are no decisions
	}
	return events, more, nil
}

func (f *tailFeed) passes(d *decision.Record) bool {
	for _, filter := range []struct{ wanted, is string }{
		{f.in.AgentID, d.AgentID}, {f.in.SessionID, d.SessionID}, {f.in.Tool, d.Tool},
		{f.in.Decision, d.Verdict.String()}, {f.in.PlanID, d.PlanID},
	} {
		if filter.wanted != "" && filter.wanted != filter.is {
			return false
		}
	}
	return true
}

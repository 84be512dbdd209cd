package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// How many live tails are open at a time. Each looks into the database every second.
const (
	tailsPerUser         = 5
	tailsPerOrganization = 50
	tailsAtAll           = 200
)

func (a *API) mountTail() {
	route.Stream[tailInput, TailEventBody](a.router, Route{
		Method: http.MethodGet, Path: "/organization/{orgId}/observability/stream", Tag: "observability",
		Summary: "New traces and decisions as they come, as server-sent events; the header Last-Event-ID resumes",
		Mode:    JWT, Action: principal.ReadTelemetry,
	}, &a.tails, a.tail)
}

// TailEventBody is the data of an event of a live tail: a trace or a decision.
type TailEventBody struct {
	Trace    *TailedTraceBody    `json:"trace,omitzero" doc:"Of the events trace and growth."`
	Decision *TailedDecisionBody `json:"decision,omitzero" doc:"Of the event decision."`
}

type tailInput struct {
	OrgInput
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that was seen. Absent: what comes from now on."`
	After       string `query:"after" maxLength:"100" doc:"The same, for who cannot send the header, which counts before."`
	Only        string `query:"only" enum:"traces,decisions" doc:"Leaves the other out."`
	AgentID     string `query:"agentId" maxLength:"500" doc:"Of exactly this agent."`
	SessionID   string `query:"sessionId" maxLength:"500" doc:"Of this session."`
	Tool        string `query:"tool" maxLength:"500" doc:"Decisions about this tool, and traces with a new span of it."`
	Status      string `query:"status" enum:"ok,error,denied" doc:"Traces of this status; no decisions."`
	Name        string `query:"name" maxLength:"200" doc:"Traces of exactly this name; no decisions."`
	Decision    string `query:"decision" enum:"allow,deny,hold,ask" doc:"Decisions with this answer; no traces."`
	PlanID      string `query:"planId" maxLength:"500" doc:"Decisions under this plan; no traces."`
}

// wants says what is told: a filter that one of the two does not know leaves that
// one out.
func (in *tailInput) wants() (traces, decisions bool, err error) {
	traces = in.Only != "decisions" && in.Decision+in.PlanID == ""
	decisions = in.Only != "traces" && in.Status+in.Name == ""
	if !traces && !decisions {
		return false, false, fault.Field("only",
			"nothing passes these filters: status and name are of traces, decision and planId of decisions")
	}
	return traces, decisions, nil
}

// tail is the feed of what an organization receives and decides.
func (a *API) tail(ctx context.Context, caller principal.Principal, in *tailInput) (feed, error) {
	traces, decisions, err := in.wants()
	if err != nil {
		return nil, err
	}
	f := &tailFeed{
		api:       a,
		orgID:     caller.OrgID,
		filter:    *in,
		decisions: decisions,
		own:       in.Only == "traces",
	}
	begin := f.beginNow
	if in.LastEventID+in.After != "" {
		begin = f.resume
	}
	return f, begin(ctx, traces, telemetry.ArrivalFilter{
		AgentID:   in.AgentID,
		SessionID: lower(in.SessionID),
		Name:      in.Name,
		Status:    in.Status,
		Tool:      in.Tool,
	})
}

// tailFeed is what an organization receives and decides, as far as someone wants it.
type tailFeed struct {
	api    *API
	orgID  string
	filter tailInput
	own    bool // traces that the server makes of decisions are told too

	traces *telemetry.Follower // nil: none are told
	at     telemetry.Cursor    // of the traces that were told

	decisions bool
	index     int64 // in the log, of the first entry that was not looked at
	epoch     int64 // of the log
}

// beginNow begins behind what there is.
func (f *tailFeed) beginNow(ctx context.Context, traces bool, filter telemetry.ArrivalFilter) error {
	f.at = telemetry.Cursor{At: f.api.Database.Now()}
	if traces {
		follower, err := f.api.Telemetry.Follow(ctx, f.orgID, filter)
		if err != nil {
			return err
		}
		f.traces, f.at = follower, follower.Cursor()
	}
	head, err := audit.ReadHead(ctx, f.api.Database, audit.LogOf(f.orgID))
	f.index, f.epoch = head.Size, head.Epoch
	return err
}

// resume begins where a reader was. A restored server may have less than it once
// told, and other decisions since.
func (f *tailFeed) resume(ctx context.Context, traces bool, filter telemetry.ArrivalFilter) error {
	if err := f.readPlace(); err != nil {
		return err
	}
	if now := f.api.Database.Now(); f.at.At.After(now) {
		f.at = telemetry.Cursor{At: now}
	}
	if traces {
		f.traces = f.api.Telemetry.Resume(f.orgID, filter, f.at)
	}
	head, err := audit.ReadHead(ctx, f.api.Database, audit.LogOf(f.orgID))
	if err != nil {
		return err
	}
	f.index = min(f.index, head.Size)
	if f.epoch != head.Epoch {
		restored, err := audit.LastRestore(ctx, f.api.Database, audit.LogOf(f.orgID))
		if err != nil {
			return err
		}
		f.index, f.epoch = min(f.index, restored), head.Epoch
	}
	return nil
}

// Position is the receipt and row of the last trace, and the log's epoch and next index.
func (f *tailFeed) Position() string {
	at := max(f.at.At.UnixMicro(), 0)
	return fmt.Sprintf("%d.%d.%d.%d", at, f.at.Row, f.epoch, f.index)
}

func (f *tailFeed) readPlace() error {
	name, text := "Last-Event-ID", f.filter.LastEventID
	if text == "" {
		name, text = "after", f.filter.After
	}
	parts := strings.Split(text, ".")
	var numbers [4]int64
	for i := range numbers {
		var err error
		if len(parts) == len(numbers) {
			numbers[i], err = strconv.ParseInt(parts[i], 10, 64)
		}
		if err != nil || len(parts) != len(numbers) || numbers[i] < 0 {
			return fault.Field(name, "must be the id of an event of this stream")
		}
	}
	f.at = telemetry.Cursor{At: time.UnixMicro(numbers[0]), Row: numbers[1]}
	f.epoch, f.index = numbers[2], numbers[3]
	return nil
}

// Changed: there is no bell. Ingest does nothing for those who watch.
func (f *tailFeed) Changed() <-chan struct{} { return nil }

func (f *tailFeed) Next(ctx context.Context) ([]feedEvent, bool, error) {
	traces, moreTraces, err := f.nextTraces(ctx)
	if err != nil {
		return nil, false, err
	}
	decisions, moreDecisions, err := f.nextDecisions(ctx)
	if err != nil {
		return nil, false, err
	}
	return append(traces, decisions...), moreTraces || moreDecisions, nil
}

func (f *tailFeed) nextTraces(ctx context.Context) (told []feedEvent, more bool, err error) {
	if f.traces == nil {
		return nil, false, nil
	}
	arrived, more, err := f.traces.Next(ctx, eventsAtOnce)
	if err != nil {
		return nil, false, err
	}
	for _, a := range arrived {
		if a.Cursor.Compare(f.at) > 0 { // else it was received before what is told already
			f.at = a.Cursor
		}
		if a.Own() && !f.own {
			continue
		}
		kind := "trace"
		if a.Grew {
			kind = "growth"
		}
		told = append(told, feedEvent{Kind: kind, ID: f.Position(), Body: func(caller principal.Principal) any {
			return TailEventBody{Trace: tailedTrace(caller, a)}
		}})
	}
	f.at = f.traces.Cursor()
	return told, more, nil
}

func (f *tailFeed) nextDecisions(ctx context.Context) (told []feedEvent, more bool, err error) {
	if !f.decisions {
		return nil, false, nil
	}
	head, err := audit.ReadHead(ctx, f.api.Database, audit.LogOf(f.orgID))
	if err != nil || head.Size <= f.index {
		return nil, false, err
	}
	found, err := decision.Read(ctx, f.api.Database, f.orgID, f.index, eventsAtOnce)
	if err != nil {
		return nil, false, err
	}
	for _, d := range found {
		f.index = d.Index + 1
		if f.fits(&d) {
			told = append(told, feedEvent{Kind: "decision", ID: f.Position(), Body: func(caller principal.Principal) any {
				return TailEventBody{Decision: tailedDecision(caller, &d)}
			}})
		}
	}
	if len(found) < eventsAtOnce {
		f.index = max(f.index, head.Size) // what else is there is no decision
		return told, false, nil
	}
	return told, true, nil
}

func (f *tailFeed) fits(d *decision.Record) bool {
	for _, want := range []struct{ wanted, is string }{
		{f.filter.AgentID, d.AgentID}, {f.filter.SessionID, d.SessionID}, {f.filter.Tool, d.Tool},
		{f.filter.Decision, d.Verdict.String()}, {f.filter.PlanID, d.PlanID},
	} {
		if want.wanted != "" && want.wanted != want.is {
			return false
		}
	}
	return true
}

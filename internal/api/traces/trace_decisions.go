package traces

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

type traceDecisionsInput struct {
	route.OrgInput
	route.IDInput
	route.PageInput
}

// traceDecisions lists the decisions that belong to a trace: those that it shows if Writ made it, in their order, and
// otherwise those of its session while it ran, the newest first. The times of a trace are by the client's clock.
func (h *Handlers) traceDecisions(
	ctx context.Context, caller principal.Principal, in *traceDecisionsInput,
) (page.Page[TailedDecisionBody], error) {
	none := page.Page[TailedDecisionBody]{Items: []TailedDecisionBody{}}
	belong, err := h.Telemetry.TraceDecisions(ctx, caller.OrgID, in.ID)
	if err != nil || belong == nil {
		return none, err
	}
	list := h.sessionDecisions
	if belong.Own {
		list = h.ownDecisions
	}
	found, err := list(ctx, caller.OrgID, belong, in)
	if err != nil {
		return none, err
	}
	return h.shownDecisions(caller, found)
}

// shownDecisions are the decisions of some entries.
func (h *Handlers) shownDecisions(
	caller principal.Principal, entries page.Page[audit.Stored],
) (page.Page[TailedDecisionBody], error) {
	var err error
	return route.MapPage(entries, func(e audit.Stored) TailedDecisionBody {
		if e.Altered.Record {
			return TailedDecisionBody{
				Index: e.Index, At: database.Time(e.Time), Decision: decision.Altered, Altered: e.Altered.Why,
			}
		}
		records, broken := decision.FromEntries(caller.OrgID, []audit.Stored{e})
		if broken != nil {
			err = errors.Join(err, broken)
			return TailedDecisionBody{}
		}
		shown := tailedDecision(caller, &records[0])
		shown.Altered = e.Altered.Why
		return *shown
	}), err
}

func (h *Handlers) sessionDecisions(
	ctx context.Context, orgID string, belong *telemetry.TraceDecisions, in *traceDecisionsInput,
) (page.Page[audit.Stored], error) {
	if belong.SessionID == "" {
		return page.Of[audit.Stored](nil, in.Limit, nil), nil
	}
	return h.Audit.Entries(ctx, orgID, audit.Filter{
		Session:  belong.SessionID,
		Verdicts: []string{"allow", "ask", "hold", "deny"}, // executions have none
		From:     belong.From,
		Until:    belong.Last.Add(time.Microsecond),
		Limit:    in.Limit,
		Cursor:   in.Cursor,
	})
}

// ownList names the list in its cursors.
const ownList = "trace-decisions"

func (h *Handlers) ownDecisions(
	ctx context.Context, orgID string, _ *telemetry.TraceDecisions, in *traceDecisionsInput,
) (page.Page[audit.Stored], error) {
	cursor, err := page.Decode(in.Cursor, ownList, orgID)
	if err != nil {
		return page.Page[audit.Stored]{}, err
	}
	after := telemetry.FirstSpan
	if !cursor.IsZero() {
		if after, err = strconv.ParseInt(cursor.ID, 10, 64); err != nil {
			return page.Page[audit.Stored]{}, fault.New(fault.Invalid, "Invalid cursor")
		}
	}
	spans, err := h.Telemetry.OwnDecisions(ctx, orgID, in.ID, after, in.Limit+1)
	if err != nil {
		return page.Page[audit.Stored]{}, err
	}
	shown := page.Of(spans, in.Limit, func(s telemetry.DecidedSpan) page.Cursor {
		return page.Cursor{List: ownList, Scope: orgID, ID: strconv.FormatInt(s.Number, 10)}
	})
	var positions []int64
	for _, s := range shown.Items {
		if s.Index != nil {
			positions = append(positions, *s.Index)
		}
	}
	entries, err := h.Audit.EntriesAt(ctx, audit.LogOf(orgID), positions)
	entries = slices.DeleteFunc(entries, isNoDecision)
	return page.Page[audit.Stored]{Items: entries, NextCursor: shown.NextCursor, HasMore: shown.HasMore}, err
}

// isNoDecision reports whether an entry is something else: a log that was restored may have other entries at the
// indexes that telemetry knows.
func isNoDecision(e audit.Stored) bool {
	if e.Altered.Record {
		return !decision.IsAction(e.Action)
	}
	record, err := e.Parse()
	return err != nil || record.Verdict == ""
}

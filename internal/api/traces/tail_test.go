package traces_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/testserver"
	"writ/internal/verdict"
)

// watching is someone who watches what happens in an organization.
type watching struct {
	t      *testing.T
	events *client.EventReader
}

// watch opens a live tail, and reads where it begins.
func (o *observed) watch(p *testserver.Person, filter client.TailFilter, after string) *watching {
	o.t.Helper()
	return o.watchAt(p.Client, filter, after)
}

func (o *observed) watchAt(c *client.Client, filter client.TailFilter, after string) *watching {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	events, err := c.Tail(ctx, o.org, filter, after)
	if err != nil {
		o.t.Fatalf("open a tail: %v", err)
	}
	o.t.Cleanup(func() { cancel(); events.Close() })
	first, err := events.Next()
	if err != nil || first.Kind != "ready" || events.LastID() == "" {
		o.t.Fatalf("a tail begins with %+v, %v", first, err)
	}
	return &watching{o.t, events}
}

// told is an event of a tail.
type told struct {
	client.TailEvent
	kind, id string
}

// next is the next event, which must come.
func (w *watching) next() told {
	w.t.Helper()
	event, err := w.events.Next()
	if err != nil {
		w.t.Fatalf("wait for an event: %v", err)
	}
	e := told{kind: event.Kind, id: w.events.LastID()}
	if err := json.Unmarshal(event.Data, &e.TailEvent); err != nil {
		w.t.Fatalf("%s: %v", event.Data, err)
	}
	return e
}

// key is what tells an event from others, and from itself when it is repeated.
func (e told) key() string {
	if e.Decision != nil {
		return fmt.Sprint("decision ", e.Decision.Index)
	}
	return fmt.Sprint("trace ", e.Trace.ID, e.Trace.ReceivedAt.UnixMicro())
}

// decides records a decision as enforcement does.
func (o *observed) decides(changes ...func(*decision.Record)) decision.Record {
	o.t.Helper()
	d := decision.Record{
		ID:      database.NewID(),
		OrgID:   o.org,
		AgentID: "codex",
		Server:  "bank",
		Tool:    "pay",
		Ruling: verdict.Ruling{
			Verdict:       verdict.Deny,
			PolicyID:      "payments",
			PolicyVersion: 2,
			Rule:          "large",
			PolicyName:    "Payments",
			Reason:        "too large",
		},
		Details: decision.Details{
			Arguments: []byte(`{"secretive":1}`),
		},
	}
	for _, change := range changes {
		change(&d)
	}
	err := o.Database.Write(o.t.Context(), database.Change{Logs: []string{audit.LogOf(o.org)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := decision.Append(ctx, tx, o.Audit.Log, principal.Operator(), &d)
		return err
	}})
	if err != nil {
		o.t.Fatalf("decide: %v", err)
	}
	return d
}

func eachObserved(t *testing.T, body func(t *testing.T, o *observed)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) { body(t, observe(t, s, s.Person("owner"))) })
}

func TestTailTellsTracesAndDecisions(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		o.store(batch(o.trace(nil)))
		live := o.watch(o.owner, client.TailFilter{}, "")
		trace := o.trace(m{"agentId": "codex", "attributes": m{"input": "hello", "large": strings.Repeat("x", 3000)}})
		o.store(batch(trace, o.generation("m", 7, 2, nil)))
		came := live.next()
		if came.kind != "trace" || came.Trace == nil || came.Trace.ID != trace["id"] || came.Trace.Grew ||
			came.Trace.AgentID != "codex" || came.Trace.SpanCount != 1 ||
			came.Trace.TotalInputTokens != 7 || came.Trace.Product != "suite" || came.Trace.InputPreview == nil ||
			*came.Trace.InputPreview != "hello" {
			t.Errorf("after a trace: %+v", came)
		}
		d := o.decides()
		decided := live.next()
		if got := decided.Decision; decided.kind != "decision" || got == nil || got.ID != d.ID ||
			got.Decision != "deny" || got.Tool != "pay" || got.Server != "bank" || got.PolicyName != "Payments" ||
			got.Reason != "too large" {
			t.Errorf("after a decision: %+v", decided)
		}
		again := o.watch(o.owner, client.TailFilter{}, decided.id)
		o.decides(func(d *decision.Record) { d.Tool = "refund" })
		got := again.next()
		for got.Trace != nil { // one that came shortly before may be told again
			got = again.next()
		}
		if got.Decision == nil || got.Decision.Tool != "refund" {
			t.Errorf("resumed with %+v", got)
		}
	})
}

// TestTailTellsADecisionOnce: the server's own traces of decisions are told to those
// alone who want no decisions.
func TestTailTellsADecisionOnce(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		live, traces := o.watch(o.owner, client.TailFilter{}, ""),
			o.watch(o.owner, client.TailFilter{Only: "traces"}, "")
		o.decides()
		if got := traces.next(); got.Trace == nil || got.Trace.Source != "writ" {
			t.Errorf("who wants traces reads %+v", got)
		}
		o.decides()
		if got := traces.next(); got.kind != "growth" || got.Trace == nil || !got.Trace.Grew ||
			got.Trace.SpanCount != 2 {
			t.Errorf("and then %+v", got)
		}
		for range 2 {
			if got := live.next(); got.Decision == nil {
				t.Errorf("who wants all reads %+v", got)
			}
		}
		last := o.trace(nil)
		o.store(batch(last))
		if got := live.next(); got.Trace == nil || got.Trace.ID != last["id"] {
			t.Errorf("and then %+v", got)
		}
	})
}

func TestTailTellsWhatIsWanted(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		session := database.NewID()
		wanted := o.trace(m{"agentId": "codex", "name": "deploy", "status": "error", "sessionId": session})
		span := o.span("span", m{"attributes": m{"toolName": "pay"}})
		plain := func(d *decision.Record) { d.AgentID, d.Tool, d.Verdict = "other", "other", verdict.Allow }
		full := func(d *decision.Record) { d.SessionID, d.PlanID = session, "plan" }
		trace, both, decided := "trace", "trace decision", "decision"
		filters := map[client.TailFilter]string{
			{Only: "decisions", AgentID: "codex"}: decided, {Only: "traces", AgentID: "codex"}: trace,
			{AgentID: "codex"}: both, {SessionID: session}: both,
			{Tool: "pay"}: both, {Status: "error"}: trace, {Name: "deploy"}: trace, {Decision: "deny"}: decided,
			{PlanID: "plan"}: decided,
		}
		var people []*testserver.Person // each may watch five
		for range len(filters)/5 + 1 {
			people = append(people, o.Join(o.owner, o.org, "member"))
		}
		open := map[client.TailFilter]*watching{}
		for filter := range filters {
			open[filter] = o.watch(people[len(open)/5], filter, "")
		}
		o.store(batch(o.trace(nil), o.generation("m", 1, 1, nil)))
		o.decides(plain)
		// One after the other: a tail reads traces and decisions by turns, so what
		// comes between the two reads may be shown in the other order.
		for _, happens := range []struct {
			kind string
			do   func()
		}{
			{trace, func() { o.store(batch(wanted, span)) }}, {decided, func() { o.decides(full) }},
		} {
			happens.do()
			for filter, want := range filters {
				if !strings.Contains(want, happens.kind) {
					continue
				}
				got := open[filter].next()
				if got.kind != happens.kind || got.Trace != nil && got.Trace.ID != wanted["id"] ||
					got.Decision != nil && got.Decision.PlanID != "plan" {
					t.Errorf("%+v: shown %+v, want the %s", filter, got, happens.kind)
				}
			}
		}
	})
}

func TestTailShowsOnlyWhatOneMaySee(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		viewer := o.Join(o.owner, o.org, "viewer")
		live := o.watch(viewer, client.TailFilter{}, "")
		other := observe(t, o.Server, o.owner)
		other.store(batch(other.trace(nil)))
		other.decides()
		trace := o.trace(m{"attributes": m{"input": "private"}})
		o.store(batch(trace))
		if got := live.next(); got.Trace == nil || got.Trace.ID != trace["id"] || got.Trace.InputPreview != nil {
			t.Errorf("a viewer reads %+v", got)
		}
		d := o.decides()
		if got := live.next(); got.Decision == nil || got.Decision.ID != d.ID || got.Decision.Reason != "" ||
			got.Decision.PolicyName != "" {
			t.Errorf("a viewer reads %+v", got)
		}
		_, err := o.Person("outsider").Tail(t.Context(), o.org, client.TailFilter{}, "")
		testserver.WantStatus(t, "an outsider's tail", err, http.StatusForbidden)
		_, err = o.agent.Tail(t.Context(), o.org, client.TailFilter{}, "")
		testserver.WantStatus(t, "an agent's tail", err, http.StatusUnauthorized)
	})
}

// TestTailEndsWithTheRightToIt: who may not read any more gets nothing more.
func TestTailEndsWithTheRightToIt(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(o *observed, p *testserver.Person) error{
		"the token expires": func(o *observed, _ *testserver.Person) error { o.Advance(16 * time.Minute); return nil },
		"the member is gone": func(o *observed, p *testserver.Person) error {
			return o.owner.RemoveMember(o.t.Context(), o.org, p.ID)
		},
		"the session is ended": func(o *observed, p *testserver.Person) error { return p.Logout(o.t.Context()) },
		"the organization is closed": func(o *observed, _ *testserver.Person) error {
			return o.owner.CloseOrganization(o.t.Context(), o.org)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachObserved(t, func(t *testing.T, o *observed) {
				member := o.Join(o.owner, o.org, "member")
				live := o.watch(member, client.TailFilter{}, "")
				if err := lose(o, member); err != nil {
					t.Fatal(err)
				}
				o.decides()
				if got, err := live.events.Next(); err != nil || got.Kind != "end" {
					t.Errorf("after that: %+v, %v", got, err)
				}
				if got, err := live.events.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("the stream goes on: %+v, %v", got, err)
				}
			})
		})
	}
}

func TestTailsAreCounted(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		member := o.Join(o.owner, o.org, "member")
		var open []*watching
		for range 5 {
			open = append(open, o.watch(member, client.TailFilter{}, ""))
		}
		_, err := member.Tail(t.Context(), o.org, client.TailFilter{}, "")
		testserver.WantStatus(t, "the sixth", err, http.StatusTooManyRequests)
		o.watch(o.owner, client.TailFilter{}, "") // another person's are counted by themselves
		open[0].events.Close()
		testserver.Soon(t, "a closed one makes room", func() bool {
			events, err := member.Tail(t.Context(), o.org, client.TailFilter{}, "")
			if err == nil {
				events.Close()
			}
			return err == nil
		})
	})
}

func TestHowATailBegins(t *testing.T) {
	t.Parallel()
	eachObserved(t, func(t *testing.T, o *observed) {
		path := o.path("/stream")
		for query, field := range map[string]string{
			"after=x": "after", "after=1.2.3": "after", "after=-1.2.3.4": "after", "after=1.2.3.4.5": "after",
			"after=99999999999999999999.1.1.1": "after",
			"only=none":                        "only", "status=fine": "status", "decision=maybe": "decision",
			"status=ok&decision=deny": "only", "only=traces&planId=p": "only",
			"agentId=" + strings.Repeat("x", 501): "agentId",
		} {
			if fields := o.Request(t, "GET", path+"?"+query, "",
				testserver.Credentials(o.owner.Client)...).ErrorFields(t,
				http.StatusBadRequest); !slices.Equal(fields, []string{field}) {
				t.Errorf("%s: refused because of %v, want %s", query, fields, field)
			}
		}
		headers := append(testserver.Credentials(o.owner.Client), "Last-Event-ID", "y")
		if fields := o.Request(t, "GET", path+"?after=0.0.0.0", "", headers...).ErrorFields(t,
			http.StatusBadRequest); !slices.Equal(fields, []string{"Last-Event-ID"}) {
			t.Errorf("a bad header: %v", fields)
		}
		head := o.Request(t, "HEAD", path, "", testserver.Credentials(o.owner.Client)...)
		if head.Status != http.StatusOK || head.Header.Get("Content-Type") != "text/event-stream" ||
			len(head.Body) != 0 {
			t.Errorf("HEAD: %+v", head)
		}
		o.decides()
		for _, after := range []string{
			"0.0.0.0", "9000000000000000000.9000000000000000000.9000000000000000000.9000000000000000000",
		} {
			// The second is of a server that was restored since: it ends where there is nothing more.
			live := o.watch(o.owner, client.TailFilter{Only: "decisions"}, after)
			o.decides()
			if got := live.next(); got.Decision == nil {
				t.Errorf("behind %s: %+v", after, got)
			}
		}
	})
}

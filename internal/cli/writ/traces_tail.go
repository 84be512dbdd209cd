package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// How a tail reconnects, and after which silence a connection counts as broken: a
// server sends something every 15 seconds.
const (
	firstPause  = 500 * time.Millisecond
	longestWait = 30 * time.Second
	silence     = 45 * time.Second
)

// tailing is what `writ traces tail` is asked, and its position in the stream.
type tailing struct {
	asPerson
	filter client.TailFilter
	count  int
	wait   func(context.Context, time.Duration) error

	after   string // id of the last event
	printed int
	repeats repeats
	pause   time.Duration // before the next connection
	greeted bool
}

func tracesTail(s cli.Streams) *cobra.Command {
	t := tailing{wait: waitFor}
	cmd := &cobra.Command{
		Use: "tail", Short: "Print new traces and decisions as they come", Args: cobra.NoArgs,
		Long: `Print each new trace and each decision of an organization as it comes, one a line; with --json one object a line. It
reconnects when the connection breaks, and neither misses a line nor prints one twice. It ends after --count lines, or
when it is interrupted.`,
		PreRunE: func(*cobra.Command, []string) error { return t.checkSession(s) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context(), s) },
	}
	t.addFlags(cmd)
	f := cmd.Flags()
	cli.ChoiceFlag(cmd, &t.filter.Only, "only", "traces or decisions: leave the other out", "traces", "decisions")
	f.StringVar(&t.filter.AgentID, "agent", "", "of this agent")
	f.StringVar(&t.filter.SessionID, "session", "",
		"of this session: of traces by its UUID, of decisions as the client calls it")
	f.StringVar(&t.filter.Tool, "tool", "", "decisions about this tool, and traces with a new span of it")
	cli.ChoiceFlag(cmd, &t.filter.Status, "status", "traces that are ok, error or denied; no decisions", traceStates...)
	f.StringVar(&t.filter.Name, "name", "", "traces of exactly this name; no decisions")
	calledDecision(cmd, func(name string) {
		cli.ChoiceFlag(cmd, &t.filter.Decision, name, "decisions with this verdict: allow, deny, hold or ask; no traces",
			verdictNames...)
	})
	f.StringVar(&t.filter.PlanID, "plan", "", "decisions under this plan; no traces")
	cli.NumberFlag(cmd, &t.count, "count", "end after so many lines; 0: never", 0, maxCount)
	return cmd
}

// checkSession refuses a session that cannot match: traces have UUIDs for sessions,
// decisions the names that clients give.
func (t *tailing) checkSession(s cli.Streams) error {
	if t.filter.SessionID == "" || uuidOf(t.filter.SessionID) != "" {
		return nil
	}
	const where = "writ traces export --rows sessions lists the ids"
	if t.filter.Only == "traces" || t.filter.Status != "" || t.filter.Name != "" {
		return errors.New("--session must be a UUID where traces are watched: " + where)
	}
	if t.filter.Only != "decisions" {
		fmt.Fprintf(s.Err, "writ: --session is no UUID, so it chooses decisions only; %s of traces\n", where)
	}
	return nil
}

// errEnough says that --count lines were printed.
var errEnough = errors.New("enough was printed")

// run follows from one connection to the next.
func (t *tailing) run(ctx context.Context, s cli.Streams) error {
	t.pause = firstPause
	for {
		err := t.follow(ctx, s)
		switch {
		case ctx.Err() != nil, errors.Is(err, errEnough):
			return nil // interrupted, as people end it, or done
		case t.after == "" || !reconnects(err): // the first connection must succeed
			return hinted(err, t.signInAgain())
		}
		pause := max(t.pause/2+rand.N(t.pause), retryAfter(err))
		fmt.Fprintf(s.Err, "writ: %s; connecting again\n", cli.Line(cli.Message(answered(err))))
		if t.wait(ctx, pause) != nil {
			return nil
		}
		t.pause = min(2*t.pause, longestWait)
	}
}

// broken is an error after which the tail reconnects.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// reconnects reports whether the tail reconnects after an error: not where the server
// says what is wrong with the request.
func reconnects(err error) bool {
	if status := client.StatusOf(err); status != 0 {
		return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	}
	_, lost := errors.AsType[broken](err)
	return lost
}

func retryAfter(err error) time.Duration {
	if answer, ok := errors.AsType[*client.Error](err); ok {
		return min(answer.RetryAfter, longestWait)
	}
	return 0
}

// follow prints what one connection brings.
func (t *tailing) follow(ctx context.Context, s cli.Streams) error {
	c, err := t.client(ctx) // with a new token where the old one has ended
	if errors.Is(err, cli.ErrSignedOut) {
		return err
	}
	if err != nil {
		return lost(ctx, err)
	}
	live, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	quiet := time.AfterFunc(silence, func() { hangUp(errors.New("the server is silent")) })
	defer quiet.Stop()
	org, err := t.organization(live, c)
	if err != nil {
		return lost(live, err)
	}
	events, err := c.Tail(live, org, t.filter, t.after)
	if err != nil {
		return lost(live, err)
	}
	defer events.Close()
	events.Heard = func() { quiet.Reset(silence) }
	for {
		event, err := events.Next()
		if err != nil {
			t.resumeAfter(events.LastID())
			return lost(live, err)
		}
		if err := t.take(s, event); err != nil {
			return err
		}
		t.resumeAfter(events.LastID())
	}
}

// resumeAfter keeps the position that the server sent. A connection that broke before
// that sent none.
func (t *tailing) resumeAfter(id string) {
	if id != "" {
		t.after = id
	}
}

// lost is the error that broke a connection. An answer of the server stays as it is.
func lost(ctx context.Context, err error) error {
	if client.StatusOf(err) != 0 {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the connection was closed")
	}
	return broken{err}
}

// take prints an event.
func (t *tailing) take(s cli.Streams, event client.Event) error {
	switch event.Kind {
	case "ready":
		t.pause = firstPause
		if !t.greeted && !t.asJSON {
			fmt.Fprintln(s.Err, "writ: watching; interrupt to end")
			t.greeted = true
		}
		return nil
	case "end":
		var end struct{ Message string }
		_ = json.Unmarshal(event.Data, &end) // it ends with or without words
		return broken{fmt.Errorf("the server ended it: %s", cli.Line(end.Message))}
	}
	var tailed client.TailEvent
	if err := json.Unmarshal(event.Data, &tailed); err != nil {
		return broken{fmt.Errorf("read an event: %w", err)}
	}
	if tailed.Trace == nil && tailed.Decision == nil || t.repeats.has(keyOf(tailed)) {
		return nil // of an unknown kind, or printed before
	}
	if err := show(&t.server, s, tailed, printEvent); err != nil {
		return err
	}
	t.repeats.add(keyOf(tailed))
	if t.printed++; t.printed == t.count {
		return errEnough
	}
	return nil
}

// keyOf identifies an event.
func keyOf(e client.TailEvent) string {
	if e.Decision != nil {
		return e.Decision.ID
	}
	return fmt.Sprint(e.Trace.ID, e.Trace.ReceivedAt.UnixMicro())
}

// recentEvents is how many events at least are recognized when they are repeated. A
// server repeats what came in the seconds before the connection broke.
const recentEvents = 50_000

// repeats recognizes recent events.
type repeats struct {
	recent, before map[string]bool
}

func (r *repeats) has(key string) bool { return r.recent[key] || r.before[key] }

func (r *repeats) add(key string) {
	if r.recent == nil || len(r.recent) == recentEvents {
		r.before, r.recent = r.recent, map[string]bool{}
	}
	r.recent[key] = true
}

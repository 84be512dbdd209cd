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

// How a tail comes back after its connection broke, and when it takes one for broken:
// a server says something every 15 seconds.
const (
	firstPause  = 500 * time.Millisecond
	longestWait = 30 * time.Second
	silence     = 45 * time.Second
)

// tailing is what `writ traces tail` is asked, and where it stands.
type tailing struct {
	asPerson
	filter client.TailFilter
	count  int
	wait   func(context.Context, time.Duration) error

	after   string // id of the last event
	told    int
	repeats repeats
	pause   time.Duration // before the next connection
	greeted bool
}

func tracesTail(s cli.Streams) *cobra.Command {
	t := tailing{wait: waitFor}
	cmd := &cobra.Command{
		Use: "tail", Short: "Print new traces and decisions as they come", Args: cobra.NoArgs,
		Long: "Print each new trace and each decision of an organization as it comes, one a line; with --json one object a line. A\n" +
			"connection that breaks is made anew, and nothing is missed or printed twice. It ends with --count lines, or when it is\n" +
			"interrupted.",
		PreRunE: func(*cobra.Command, []string) error { return t.checkSession(s) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context(), s) },
	}
	t.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&t.filter.Only, "only", "", "traces or decisions: leave the other out")
	f.StringVar(&t.filter.AgentID, "agent", "", "of this agent")
	f.StringVar(&t.filter.SessionID, "session", "",
		"of this session: of traces by its UUID, of decisions as the client calls it")
	f.StringVar(&t.filter.Tool, "tool", "", "decisions about this tool, and traces with a new span of it")
	f.StringVar(&t.filter.Status, "status", "", "traces that are ok, error or denied; no decisions")
	f.StringVar(&t.filter.Name, "name", "", "traces of exactly this name; no decisions")
	f.StringVar(&t.filter.Decision, "decision", "", "decisions that are allow, deny, hold or ask; no traces")
	f.StringVar(&t.filter.PlanID, "plan", "", "decisions under this plan; no traces")
	f.IntVar(&t.count, "count", 0, "end after so many lines")
	return cmd
}

// checkSession refuses to wait for what cannot come: sessions of traces have UUIDs,
// those of decisions the names that clients give them.
func (t *tailing) checkSession(s cli.Streams) error {
	if t.filter.SessionID == "" || uuidOf(t.filter.SessionID) != "" {
		return nil
	}
	const where = "writ traces export --rows sessions lists the ids"
	if t.filter.Only == "traces" || t.filter.Status != "" || t.filter.Name != "" {
		return errors.New("--session must be a UUID where traces are watched: " + where)
	}
	if t.filter.Only != "decisions" {
		fmt.Fprintf(s.Err, "writ: --session is no UUID, so that it tells decisions alone; %s of traces\n", where)
	}
	return nil
}

// errEnough is that as many lines were printed as were asked for.
var errEnough = errors.New("enough was printed")

// run follows from one connection to the next.
func (t *tailing) run(ctx context.Context, s cli.Streams) error {
	t.pause = firstPause
	for {
		err := t.follow(ctx, s)
		switch {
		case ctx.Err() != nil, errors.Is(err, errEnough):
			return nil // interrupted, as people end it, or done
		case t.after == "" || !comesBack(err): // who was never there is told what is wrong
			return hinted(err, "sign in again, and give the new access token")
		}
		pause := max(t.pause/2+rand.N(t.pause), retryAfter(err))
		fmt.Fprintf(s.Err, "writ: %s; connecting again\n", cli.Line(cli.Message(err)))
		if t.wait(ctx, pause) != nil {
			return nil
		}
		t.pause = min(2*t.pause, longestWait)
	}
}

// broken is an error of a connection that is made anew.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// comesBack reports whether a connection that ended so is made anew: not where the
// server says what is wrong with us.
func comesBack(err error) bool {
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
			t.standAt(events.LastID())
			return lost(live, err)
		}
		if err := t.take(s, event); err != nil {
			return err
		}
		t.standAt(events.LastID())
	}
}

// standAt remembers where the server says that we stand, which may move without an
// event; a connection that broke before it said anything tells nothing.
func (t *tailing) standAt(id string) {
	if id != "" {
		t.after = id
	}
}

// lost is what broke a connection. An answer of the server stays as it is.
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
		_ = json.Unmarshal(event.Data, &end) // it ends, whatever the words
		return broken{fmt.Errorf("the server ended it: %s", end.Message)}
	}
	var told client.TailEvent
	if err := json.Unmarshal(event.Data, &told); err != nil {
		return broken{fmt.Errorf("read an event: %w", err)}
	}
	if told.Trace == nil && told.Decision == nil || t.repeats.has(keyOf(told)) {
		return nil // of a kind we do not know, or seen
	}
	if err := t.print(s, told); err != nil {
		return err
	}
	t.repeats.add(keyOf(told))
	if t.told++; t.told == t.count {
		return errEnough
	}
	return nil
}

// keyOf tells an event from all others, and not from itself.
func keyOf(e client.TailEvent) string {
	if e.Decision != nil {
		return e.Decision.ID
	}
	return fmt.Sprint(e.Trace.ID, e.Trace.ReceivedAt.UnixMicro())
}

// remembered is how many events are known again. A server repeats what came in the
// seconds before the connection broke.
const remembered = 50_000

// repeats knows the latest events again.
type repeats struct {
	known map[string]bool
	order []string // a ring
	next  int
}

func (r *repeats) has(key string) bool { return r.known[key] }

func (r *repeats) add(key string) {
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[key] = true
	if len(r.order) < remembered {
		r.order = append(r.order, key)
		return
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = key
	r.next = (r.next + 1) % remembered
}

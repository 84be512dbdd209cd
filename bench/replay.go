package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// replayed is how fast recorded decisions are replayed, and how long one caller
// waits for a decision alone and beside that.
type replayed struct {
	name          string
	alone, beside round
	decisions     int64         // of all replays of the round together
	took          time.Duration // from the start of each to its end
}

// replay fills a log with decisions and replays a policy of 100 rules over all of
// them, again and again while one caller asks for decisions.
func (b *bench) replay(ctx context.Context) error {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	var all []replayed
	for _, i := range b.installations {
		r, err := b.measureReplay(ctx, i, rules)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		all = append(all, r)
	}
	return printReplays(os.Stdout, all)
}

func (b *bench) measureReplay(ctx context.Context, i installation, rules policies) (r replayed, err error) {
	d, err := startDecider(ctx, i, rules)
	if err != nil {
		return replayed{}, err
	}
	defer func() { err = errors.Join(err, d.target.server.stop()) }()
	size := largeLog
	if b.large {
		size = veryLargeLog
	}
	if err := b.fill(d, size); err != nil {
		return replayed{}, err
	}
	if err := d.target.server.awaitIdle(); err != nil {
		return replayed{}, err
	}
	r.name = "writd, " + string(i.engine)
	if r.alone, err = d.target.askFor(aloneFor, 1); err != nil {
		return replayed{}, err
	}
	asked := make(chan struct{})
	replaying := make(chan error, 1)
	go func() { replaying <- r.replayUntil(ctx, asked, d.account, rules.writ) }()
	r.beside, err = d.target.askFor(besideFor, 1)
	close(asked)
	return r, errors.Join(err, <-replaying)
}

// replayUntil replays until somebody has asked for long enough, and once at least.
func (r *replayed) replayUntil(ctx context.Context, asked <-chan struct{}, a *account, document []byte) error {
	for {
		job, err := a.replayOnce(ctx, document)
		if err != nil {
			return err
		}
		r.decisions += job.Report.Counts.Decisions
		r.took += job.EndedAt.Sub(job.StartedAt)
		select {
		case <-asked:
			return nil
		default:
		}
	}
}

// replayJob is what the bench reads of a replay.
type replayJob struct {
	ID                 string
	State              string
	StartedAt, EndedAt time.Time
	Report             struct {
		Counts struct{ Decisions int64 }
	}
}

const replayPoll = 100 * time.Millisecond

func (a *account) replayOnce(ctx context.Context, document []byte) (job replayJob, err error) {
	query := "?organizationId=" + url.QueryEscape(a.org)
	body := map[string]any{"document": json.RawMessage(document), "days": 7}
	if err := a.do(ctx, http.MethodPost, "/policy-replays"+query, body, &job); err != nil {
		return job, err
	}
	for job.State == "waiting" || job.State == "running" {
		select {
		case <-time.After(replayPoll):
		case <-ctx.Done():
			return job, ctx.Err()
		}
		if err := a.do(ctx, http.MethodGet, "/policy-replays/"+job.ID+query, nil, &job); err != nil {
			return job, err
		}
	}
	if job.State != "done" {
		return job, fmt.Errorf("the replay is %s", job.State)
	}
	return job, nil
}

func printReplays(out io.Writer, all []replayed) error {
	table := newTable(out, "a replay of recorded decisions", "", "decisions", "p50", "p99", "replayed beside it",
		"target")
	for _, r := range all {
		table.row("a decision alone", r.name, fmt.Sprint(r.alone.requests), milliseconds(r.alone.p50),
			milliseconds(r.alone.p99), "-", "-")
		rate := fmt.Sprintf("%.0f decisions/s (%d)", float64(r.decisions)/r.took.Seconds(), r.decisions)
		table.row("beside a replay", r.name, fmt.Sprint(r.beside.requests), milliseconds(r.beside.p50),
			milliseconds(r.beside.p99), rate, "p99 within 2 x")
	}
	return table.Flush()
}

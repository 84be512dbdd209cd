// Package witness sends the signed checkpoints of the audit logs to where whoever alters
// the server's data cannot reach: a file, an endpoint, or both.
//
// Whoever has the database and the master key can rewrite a log and sign it. A witness
// that has seen an earlier checkpoint shows that: `writ audit verify --witness` compares
// an export with everything it has seen. A server that starts compares its logs with its
// own witness file too.
//
// A witness never stops a decision. One that cannot be reached is reported, and gets what
// it has missed when it is back: every checkpoint covers all earlier entries.
package witness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Checkpoint is a signed checkpoint of a log as it is now.
type Checkpoint struct {
	Log    string `json:"log"`
	Epoch  int64  `json:"epoch"`
	Size   int64  `json:"size"`
	Signed string `json:"checkpoint"`
}

// Target is where checkpoints go.
type Target interface {
	// Name is what the target is called in messages; it holds no secret.
	Name() string
	// Send hands over checkpoints. They may have been sent before.
	Send(ctx context.Context, checkpoints []Checkpoint) error
}

// Source gives the checkpoints of logs that changed since an instant, and the instant to
// ask for the next time.
type Source func(ctx context.Context, since int64) (checkpoints []Checkpoint, next int64, err error)

// Sender sends what a source gives to targets.
type Sender struct {
	source  Source
	targets []*target
	now     func() time.Time
	running sync.Mutex // one run at a time
}

// target is a Target with what it has got.
type target struct {
	Target
	since int64
	sent  map[string]Checkpoint

	mu     sync.Mutex // guards what follows
	lastOK time.Time
	failed error // of the last try
}

// NewSender makes a sender. Without targets it does nothing.
func NewSender(source Source, now func() time.Time, targets ...Target) *Sender {
	s := &Sender{source: source, now: now}
	for _, t := range targets {
		s.targets = append(s.targets, &target{Target: t, sent: map[string]Checkpoint{}, lastOK: now()})
	}
	return s
}

// Enabled reports whether there is a witness.
func (s *Sender) Enabled() bool { return len(s.targets) > 0 }

// Run sends what is new to every target. One that fails does not keep the others waiting
// for another turn.
func (s *Sender) Run(ctx context.Context) error {
	s.running.Lock()
	defer s.running.Unlock()
	var failed error
	for _, t := range s.targets {
		if err := t.catchUp(ctx, s); err != nil {
			failed = errors.Join(failed, fmt.Errorf("witness %s: %w", t.Name(), err))
		}
	}
	return failed
}

// sentAtOnce is how many checkpoints go in one request.
const sentAtOnce = 200

func (t *target) catchUp(ctx context.Context, s *Sender) (err error) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.failed = err; err == nil {
			t.lastOK = s.now()
		}
	}()
	all, next, err := s.source(ctx, t.since)
	if err != nil {
		return err
	}
	var news []Checkpoint
	for _, c := range all {
		if t.sent[c.Log].Signed != c.Signed {
			news = append(news, c)
		}
	}
	for len(news) > 0 {
		n := min(len(news), sentAtOnce)
		if err := t.Send(ctx, news[:n]); err != nil {
			return err
		}
		for _, c := range news[:n] {
			t.sent[c.Log] = c
		}
		news = news[n:]
	}
	t.since = next
	return nil
}

// Status is how a target does.
type Status struct {
	Name   string
	Behind time.Duration // since everything was sent; 0 while nothing fails
	Error  error         // of the last try; nil: it worked
}

// Status is how every target does.
func (s *Sender) Status() []Status {
	all := make([]Status, len(s.targets))
	for i, t := range s.targets {
		t.mu.Lock()
		all[i] = Status{Name: t.Name(), Error: t.failed}
		if t.failed != nil {
			all[i].Behind = s.now().Sub(t.lastOK)
		}
		t.mu.Unlock()
	}
	return all
}

package gateway

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/principal"
)

// newAsking is a request without a session, and its session.
func newAsking(t *testing.T) *session {
	t.Helper()
	g := New(Options{Logger: slog.New(slog.DiscardHandler)})
	life, end := context.WithCancelCause(t.Context())
	s := &session{
		g:         g,
		caller:    principal.Principal{OrgID: "o", KeyID: "k"},
		stateless: true,
		life:      life,
		end:       end,
		body:      holding(func() {}),
	}
	if err := g.sessions.add(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAStopWaitsForCallsThatWait: their outcomes are recorded before what records them is closed.
func TestAStopWaitsForCallsThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsking(t)
		recorded := false
		_, err := s.begins(t.Context(), &round{}, [sha256.Size]byte{}, func(ctx context.Context) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // while the outcome is recorded
			recorded = true
			return nil, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		s.g.Run(ctx, func(err error) { t.Error(err) })
		if !recorded {
			t.Error("the server has stopped before the call has")
		}
		if _, err := s.begins(t.Context(), &round{}, [sha256.Size]byte{}, nil); err == nil {
			t.Error("a call begins when the server has stopped")
		}
	})
}

// left is how much there is of talks: by their states, and as results that are kept and their bytes.
func (ts *talks) left() (n, bytes int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.byState) + len(ts.states) + ts.kept.count(), ts.bytes
}

// TestAResultIsKeptForAMinute, and so is the room of the body while the call runs.
func TestAResultIsKeptForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsking(t)
		released := false
		s.body = holding(func() { released = true })
		answer := &sdk.ElicitResult{Action: "accept"}
		talk, err := s.begins(t.Context(), &round{}, [sha256.Size]byte{}, func(ctx context.Context) (any, error) {
			s.talks().decidedBy("d1")
			return askClient[*sdk.ElicitResult](ctx, s, &sdk.ElicitParams{})
		})
		if err != nil {
			t.Fatal(err)
		}
		state, ok := s.g.talks.wait(talk, <-talk.asked, s.body)
		s.body.done() // the request has its answer
		if !ok || released || s.g.Waiting() != 1 {
			t.Fatalf("it waits: %t; its body is gone: %t; %d wait", ok, released, s.g.Waiting())
		}
		r := &round{state: state, answers: sdk.InputResponseMap{questionID: answer}}
		for range 2 {
			again, err := s.g.talks.resume(s, r, talk.about)
			if err != nil {
				t.Fatal(err)
			}
			if <-again.done; again.result != answer || again.afterwards() != nil {
				t.Errorf("it gives %v, %v", again.result, again.err)
			}
			synctest.Wait()
		}
		if n, bytes := s.g.talks.left(); !released || s.g.Waiting() != 0 || n != 2 || bytes == 0 {
			t.Errorf("its body is gone: %t; %d wait; kept: %d, of %d bytes", released, s.g.Waiting(), n, bytes)
		}
		time.Sleep(keptTime)
		synctest.Wait()
		_, err = s.g.talks.resume(s, r, talk.about)
		if n, bytes := s.g.talks.left(); err == nil || n != 0 || bytes != 0 {
			t.Errorf("after a minute: %v; kept: %d, of %d bytes", err, n, bytes)
		}
	})
}

// TestResultsThatAreKeptAreBounded: who asks again for one that is too large is told that the call has run.
func TestResultsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsking(t)
		talk, err := s.begins(t.Context(), &round{}, [sha256.Size]byte{}, func(ctx context.Context) (any, error) {
			s.talks().decidedBy("d1")
			_, err := askClient[*sdk.ElicitResult](ctx, s, &sdk.ElicitParams{})
			return strings.Repeat("x", maxKeptBytes), err
		})
		if err != nil {
			t.Fatal(err)
		}
		state, _ := s.g.talks.wait(talk, <-talk.asked, s.body)
		r := &round{state: state, answers: sdk.InputResponseMap{questionID: &sdk.ElicitResult{Action: "accept"}}}
		if first, err := s.g.talks.resume(s, r, talk.about); err != nil || first != talk {
			t.Fatalf("the answer: %v", err)
		}
		synctest.Wait()
		again, err := s.g.talks.resume(s, r, talk.about)
		if err != nil {
			t.Fatal(err)
		}
		err = again.afterwards()
		if err == nil || again.result != nil || !strings.Contains(err.Error(), "has run") ||
			!strings.Contains(err.Error(), "Decision: d1") {
			t.Errorf("the result again: %v", err)
		}
		if _, bytes := s.g.talks.left(); bytes != 0 {
			t.Errorf("%d bytes are kept", bytes)
		}
	})
}

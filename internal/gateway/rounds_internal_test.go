package gateway

import (
	"context"
	"crypto/sha256"
	"log/slog"
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
		if !released || s.g.Waiting() != 0 || s.g.talks.kept.count() != 1 || s.g.talks.bytes == 0 {
			t.Errorf("its body is gone: %t; %d wait; %d results are kept, of %d bytes", released, s.g.Waiting(),
				s.g.talks.kept.count(), s.g.talks.bytes)
		}
		time.Sleep(keptTime)
		synctest.Wait()
		if _, err := s.g.talks.resume(s, r, talk.about); err == nil || s.g.talks.bytes != 0 ||
			len(s.g.talks.byState)+len(s.g.talks.states)+s.g.talks.kept.count() != 0 {
			t.Errorf("after a minute: %v; %+v", err, &s.g.talks)
		}
	})
}

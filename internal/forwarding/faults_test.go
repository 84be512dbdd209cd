package forwarding_test

import (
	"context"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"writ/internal/outbound"
)

// random is text that does not compress to less than three quarters.
func random(bytes int) string {
	raw := make([]byte, bytes*3/4)
	for i := range raw {
		raw[i] = byte(rand.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// dying posts as outbound does, and ends its process's context before it is known
// what came of it.
type dying struct {
	*outbound.Client
	ctx  context.Context
	kill context.CancelFunc
}

func newDying(t testing.TB) *dying {
	t.Helper()
	permit, err := outbound.ParsePermit("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}})
	t.Cleanup(client.Close)
	d := &dying{Client: client}
	d.ctx, d.kill = context.WithCancel(t.Context())
	t.Cleanup(d.kill)
	return d
}

func (d *dying) Post(ctx context.Context, r outbound.Request) (outbound.Answer, error) {
	answer, err := d.Client.Post(context.WithoutCancel(ctx), r)
	d.kill()
	if err == nil {
		err = context.Canceled
	}
	return answer, err
}

// TestASlowReceiverKeepsNobodyWaiting: one receiver answers only once another, of
// another organization, was served in the same pass.
func TestASlowReceiverKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		served := make(chan struct{})
		slow := e.elsewhere()
		slow.receiver = newReceiver(t)
		slow.receiver.behave(func(http.ResponseWriter, []*trace.Span) bool {
			<-served
			return true
		})
		e.receiver.behave(func(http.ResponseWriter, []*trace.Span) bool {
			close(served)
			return true
		})
		slow.put(slow.settings())
		e.put(e.settings())
		want, late := decided(e.decide(1)), decided(slow.decide(1))
		e.rest()
		e.wantNames("the other", want)
		slow.wantNames("the slow one", late)
	})
}

// TestAReceiverThatNeverAnswers is given up after a while, and nothing is lost.
func TestAReceiverThatNeverAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
			<-r.Context().Done()
		}))
		t.Cleanup(silent.Close)
		permit, err := outbound.ParsePermit("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		client := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}, Timeout: 50 * time.Millisecond})
		t.Cleanup(client.Close)
		e.out = e.replicaBy(client)
		settings := e.settings()
		settings.Endpoint = silent.URL
		e.put(settings)
		e.decide(1)
		e.rest()
		got := e.status()
		if got.Problem != "the target did not answer in time" || got.HTTPStatus != 0 || got.Attempts != 1 ||
			got.SentDecisions+got.LostDecisions+got.Refused != 0 {
			t.Errorf("status %+v", got)
		}
	})
}

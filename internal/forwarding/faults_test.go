package forwarding_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"testing"

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

func newDying(t *testing.T) *dying {
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

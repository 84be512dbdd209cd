package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/principal"
)

// TestAStuckSessionHoldsUpNoOther looks at and ends a session whose lock nobody gives back.
func TestAStuckSessionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	g := &Gateway{}
	g.sessions.init()
	s := &session{g: g, id: "stuck", caller: principal.Principal{KeyID: "k", OrgID: "o"}}
	s.life, s.end = context.WithCancelCause(t.Context())
	if err := g.sessions.add(s); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	killed := errors.New("killed")
	looked := make(chan bool, 1)
	go func() {
		idle := s.isIdle(time.Now().Add(time.Hour), time.Minute)
		s.hasSeen(audit.Version{})
		s.noticed(&catalogue{})
		s.close(killed)
		g.Close()
		looked <- idle
	}()
	select {
	case idle := <-looked:
		if idle {
			t.Error("a session that is busy counts as idle")
		}
	case <-time.After(time.Minute):
		t.Fatal("one stuck session holds up who looks at all")
	}
	if g.Sessions() != 0 || !errors.Is(context.Cause(s.life), killed) {
		t.Errorf("%d sessions are left, ended by %v", g.Sessions(), context.Cause(s.life))
	}
	s.mu.Unlock()
}

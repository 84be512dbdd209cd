package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"writ/internal/carrier"
	"writ/internal/fault"
	"writ/internal/principal"
)

// watchEvery is how often the sessions are looked at. A kill must end streams within a second.
const watchEvery = 300 * time.Millisecond

// reportEvery is how often errors are reported while every look fails, as while a server is away.
const reportEvery = time.Minute

// Run ends the sessions of keys and agents that may not act any more, and those that nobody uses, until ctx ends. It
// tells clients when what they may list has changed. It returns when the calls that waited for answers have ended too,
// and their outcomes are recorded: what they need is there until then.
func (g *Gateway) Run(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var quietUntil time.Time
	for {
		select {
		case <-ctx.Done():
			g.Close()
			g.sessions.talking.Wait()
			g.sessions.releasing.Wait()
			return
		case <-ticker.C:
			err := g.look(ctx)
			if err == nil {
				quietUntil = time.Time{}
			} else if now := time.Now(); ctx.Err() == nil && now.After(quietUntil) {
				report(err)
				quietUntil = now.Add(reportEvery)
			}
		}
	}
}

// holder is who may use sessions.
type holder struct {
	orgID, keyID, agentID, audience string

	attested principal.Attestation
}

// look looks at all sessions once. Each key is asked about once, whatever number of sessions it has.
func (g *Gateway) look(ctx context.Context) error {
	by := map[holder][]*session{}
	now := time.Now()
	for _, s := range g.sessions.live() {
		if s.isIdle(now, g.IdleTime) {
			s.close(errIdle)
			continue
		}
		who := holder{
			orgID: s.caller.OrgID, keyID: s.caller.KeyID, agentID: s.opened.agent, audience: s.caller.Audience,
			attested: s.caller.Attested,
		}
		by[who] = append(by[who], s)
	}
	var problems []error
	for who, sessions := range by {
		err := g.Decisions.RefuseCaller(ctx, sessions[0].caller, who.agentID)
		refused := fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Unauthenticated)
		switch {
		case refused:
			for _, s := range sessions {
				s.close(carrier.Stopped(err))
			}
			continue
		case err != nil: // nobody knows: calls are denied meanwhile
			problems = append(problems, err)
			continue
		}
		version, err := g.Decisions.Version(ctx, sessions[0].caller)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		sessions = slices.DeleteFunc(sessions, func(s *session) bool { return s.hasSeen(version) })
		if len(sessions) == 0 {
			continue
		}
		all, err := g.catalogueFor(ctx, sessions[0].caller)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, s := range sessions {
			s.noticed(all)
		}
	}
	return errors.Join(problems...)
}

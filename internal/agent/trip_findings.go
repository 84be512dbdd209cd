package agent

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// findingCount counts what was found about the agents and keys of an organization.
type findingCount struct {
	*Service
	orgID     string
	standings map[[2]string]Standing // by the agent and key of a finding
	since     map[Subject]time.Time  // from when findings count
	counts    map[aboutKind]int64
}

// aboutKind is one kind of findings about a subject.
type aboutKind struct {
	Subject
	kind string
}

// watchFindings trips what an organization's findings are about.
func (s *Service) watchFindings(ctx context.Context, orgID string, now time.Time) error {
	found, err := s.sources.Findings(ctx, orgID, now.Add(-findingsSpan))
	if err != nil {
		return fmt.Errorf("read what was found about agents: %w", err)
	}
	c := &findingCount{
		Service:   s,
		orgID:     orgID,
		standings: map[[2]string]Standing{},
		since:     map[Subject]time.Time{},
		counts:    map[aboutKind]int64{},
	}
	for _, f := range found {
		if err := c.add(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// add counts a finding, and trips with the one that reaches the limit.
func (c *findingCount) add(ctx context.Context, f Found) error {
	st, err := c.standing(ctx, f)
	if err != nil {
		return err
	}
	of, most := st.Counting.Subject, st.trips.FindingsPerDay[f.Kind]
	if of.ID == "" || most == 0 {
		return nil
	}
	if _, ok := c.since[of]; !ok {
		if c.since[of], err = countedSince(ctx, c.db, c.orgID, of, time.Time{}); err != nil {
			return err
		}
	}
	if !f.At.After(c.since[of]) {
		return nil
	}
	about := aboutKind{of, f.Kind}
	if c.counts[about]++; c.counts[about] != most {
		return nil
	}
	return c.tripLater(ctx, c.orgID, of, findingTrip(f.Kind, most), strconv.FormatInt(most, 10))
}

func (c *findingCount) standing(ctx context.Context, f Found) (Standing, error) {
	pair := [2]string{f.AgentID, f.KeyID}
	if known, ok := c.standings[pair]; ok {
		return known, nil
	}
	st, err := c.standingIn(ctx, c.db, c.orgID, f.AgentID, f.KeyID)
	c.standings[pair] = st
	return st, err
}

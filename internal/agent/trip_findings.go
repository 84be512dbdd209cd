package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// findingsSpan is for how long a finding counts.
const findingsSpan = 24 * time.Hour

// Found is how many findings of a kind there are about the calls of a key.
type Found struct {
	KeyID, Kind string
	Count       int64
}

// watched is a subject with its keys that something was found about.
type watched struct {
	Subject
	keys   []string
	limits map[string]int64 // by kind
}

// watchFindings trips what an organization's findings are about. They are counted by key: the agent that a report
// names is its client's word.
func (s *Service) watchFindings(ctx context.Context, orgID string, now time.Time) error {
	from := now.Add(-findingsSpan)
	kinds, err := s.limitedKinds(ctx, orgID)
	if err != nil || len(kinds) == 0 {
		return err
	}
	found, err := s.sources.Findings(ctx, orgID, kinds, from)
	if err != nil {
		return fmt.Errorf("read what was found about agents: %w", err)
	}
	subjects, err := s.subjectsOf(ctx, orgID, found)
	if err != nil {
		return err
	}
	var all []error
	for _, w := range subjects {
		all = append(all, s.tripFound(ctx, orgID, w, found, from))
	}
	return errors.Join(all...)
}

// limitedKinds are the kinds of findings that the organization or any of its agents limits.
func (s *Service) limitedKinds(ctx context.Context, orgID string) ([]string, error) {
	settings, err := readSettings(ctx, s.db, orgID)
	if err != nil {
		return nil, err
	}
	kinds := map[string]bool{}
	note := func(t Trips) {
		for kind, most := range t.FindingsPerDay {
			kinds[kind] = kinds[kind] || most > 0
		}
	}
	note(settings.Trips)
	own, err := readTrips(ctx, s.db, orgID)
	for _, t := range own {
		note(t)
	}
	maps.DeleteFunc(kinds, func(_ string, limited bool) bool { return !limited })
	return slices.Sorted(maps.Keys(kinds)), err
}

// subjectsOf are what keys with findings count for.
func (s *Service) subjectsOf(ctx context.Context, orgID string, found []Found) ([]*watched, error) {
	var subjects []*watched
	known, by := map[string]bool{}, map[Subject]*watched{}
	for _, f := range found {
		if known[f.KeyID] {
			continue
		}
		known[f.KeyID] = true
		st, err := s.standingIn(ctx, s.db, orgID, "", f.KeyID)
		if err != nil {
			return nil, err
		}
		of := st.Counting.Subject
		if of.ID == "" {
			continue // it is stopped, or nothing is limited
		}
		if by[of] == nil {
			by[of] = &watched{Subject: of, limits: st.trips.FindingsPerDay}
			subjects = append(subjects, by[of])
		}
		by[of].keys = append(by[of].keys, f.KeyID)
	}
	return subjects, nil
}

// tripFound trips a subject that has reached a limit, not counting what was found before a person revived it.
func (s *Service) tripFound(
	ctx context.Context, orgID string, w *watched, found []Found, from time.Time,
) error {
	for _, kind := range slices.Sorted(maps.Keys(w.limits)) {
		most := w.limits[kind]
		if most == 0 || w.count(found, kind) < most {
			continue
		}
		since, err := countedSince(ctx, s.db, orgID, w.Subject, from)
		if err != nil {
			return err
		}
		if since.After(from) {
			if found, err = s.sources.Findings(ctx, orgID, []string{kind}, since); err != nil {
				return err
			}
		}
		if w.count(found, kind) >= most {
			return s.tripLater(ctx, orgID, w.Subject, findingTrip(kind, most), strconv.FormatInt(most, 10))
		}
	}
	return nil
}

// count adds up the findings of a kind about the subject's keys.
func (w *watched) count(found []Found, kind string) (n int64) {
	for _, f := range found {
		if f.Kind == kind && slices.Contains(w.keys, f.KeyID) {
			n += f.Count
		}
	}
	return n
}

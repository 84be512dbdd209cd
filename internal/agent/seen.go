package agent

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"writ/internal/database"
)

const (
	maxKnown   = 50_000              // sightings that a process remembers as stored
	flushSlice = 100                 // rows that one change updates
	forgetSeen = 90 * 24 * time.Hour // after which a sighting is forgotten
)

// Sighting is an agent's id that was sent with a key.
type Sighting struct{ OrgID, AgentID, KeyID string }

// seen is what this process has seen. The first sighting is stored with its decision, plan or lease, so
// that whoever holds the organization's log finds every key that an id was sent with.
// Later ones only note the time, which Flush writes.
type seen struct {
	mu     sync.Mutex
	known  map[Sighting]bool // stored
	latest map[Sighting]lastSeen
	counts map[string]int // stored sightings of an organization, at least
}

type lastSeen struct {
	at   time.Time
	host string
}

func newSeen() *seen {
	return &seen{known: map[Sighting]bool{}, latest: map[Sighting]lastSeen{}, counts: map[string]int{}}
}

// Saw stores the first sighting of an agent within the transaction of a decision, plan or lease, and
// notes later ones. It raises no generation. An organization has MaxSeen at most; then a
// new one replaces the oldest of its key, or the oldest of all.
func (s *Service) Saw(ctx context.Context, tx *database.Tx, of Sighting, host string) error {
	if of.AgentID == "" {
		return nil
	}
	at := tx.Now()
	if s.seen.isKnown(of) {
		tx.AfterCommit(func() { s.seen.note(of, lastSeen{at, host}) })
		return nil
	}
	room, err := s.hasRoom(ctx, tx, of.OrgID)
	if err != nil {
		return err
	}
	if !room {
		if err := s.replaceOldest(ctx, tx, of); err != nil {
			return err
		}
	}
	stored, err := tx.Exec(ctx, `
		INSERT INTO agent_seen (org_id, agent_id, key_id, host, first_seen_at, last_seen_at)
		VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (org_id, agent_id, key_id) DO NOTHING`,
		of.OrgID, of.AgentID, of.KeyID, host, database.Micros(at))
	if err != nil {
		return fmt.Errorf("store the first sighting of an agent: %w", err)
	}
	tx.AfterCommit(func() {
		s.seen.stored(of, int(stored))
		s.seen.note(of, lastSeen{at, host}) // another process may have stored an earlier one
	})
	return nil
}

// hasRoom reports whether another sighting of the organization may be stored.
func (s *Service) hasRoom(ctx context.Context, tx *database.Tx, orgID string) (bool, error) {
	if n, ok := s.seen.count(orgID); ok {
		return n < MaxSeen, nil
	}
	var n int
	err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM agent_seen WHERE org_id = $1`, orgID).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("count the agents that were seen: %w", err)
	}
	s.seen.setCount(orgID, n)
	return n < MaxSeen, nil
}

// replaceOldest makes room for a sighting. A key that sends ever new ids replaces its own.
func (s *Service) replaceOldest(ctx context.Context, tx *database.Tx, by Sighting) error {
	for _, keyID := range []string{by.KeyID, ""} {
		oldest := Sighting{OrgID: by.OrgID}
		err := tx.QueryRow(ctx, `
			SELECT agent_id, key_id FROM agent_seen
			WHERE org_id = $1 AND ($2 = '' OR key_id = $2)
			ORDER BY last_seen_at, agent_id LIMIT 1`, by.OrgID, keyID).Scan(&oldest.AgentID, &oldest.KeyID)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM agent_seen WHERE org_id = $1 AND agent_id = $2 AND key_id = $3`,
				oldest.OrgID, oldest.AgentID, oldest.KeyID)
		}
		if err != nil {
			return fmt.Errorf("forget the oldest sighting of an agent: %w", err)
		}
		tx.AfterCommit(func() { s.seen.dropped(oldest) })
		return nil
	}
	return nil
}

// Flush writes when agents were last seen. The app calls it every few seconds and when it
// stops. After an error everything is kept for the next call.
func (s *Service) Flush(ctx context.Context) error {
	pending := s.seen.take()
	rows := slices.SortedFunc(maps.Keys(pending), compareSightings) // in one order, so that replicas lock rows in it
	for slice := range slices.Chunk(rows, flushSlice) {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			for _, of := range slice {
				updated, err := updateSeen(ctx, tx, of, pending[of])
				if err != nil {
					return err
				}
				if updated == 0 { // another process may have replaced it
					tx.AfterCommit(func() { s.seen.unknown(of) })
				}
			}
			return nil
		}})
		if err != nil {
			for of, last := range pending {
				s.seen.note(of, last)
			}
			return fmt.Errorf("write when agents were last seen: %w", err)
		}
	}
	return nil
}

func updateSeen(ctx context.Context, tx *database.Tx, of Sighting, last lastSeen) (updated int64, err error) {
	return tx.Exec(ctx, `
		UPDATE agent_seen
		SET last_seen_at = $4, host = $5
		WHERE org_id = $1 AND agent_id = $2 AND key_id = $3 AND last_seen_at < $4`,
		of.OrgID, of.AgentID, of.KeyID, database.Micros(last.at), last.host)
}

// pruneSlice is how many rows one change forgets: a large one would hold up decisions.
const pruneSlice = 500

// Prune forgets what was seen, counted, proposed and leased long ago, a slice at a time.
func (s *Service) Prune(ctx context.Context) error {
	defer s.seen.forget()
	var failed []error
	for _, slice := range []func(context.Context, *database.Tx) (int64, error){
		pruneSeen, pruneCounts, pruneLeases, pruneProposals,
	} {
		failed = append(failed, s.pruneAll(ctx, slice))
	}
	return database.Wrap(errors.Join(failed...), "forget what was seen of agents long ago")
}

// pruneAll forgets slices until nothing is left to forget.
func (s *Service) pruneAll(
	ctx context.Context, slice func(context.Context, *database.Tx) (gone int64, err error),
) error {
	for gone := int64(1); gone > 0; {
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
			gone, err = slice(ctx, tx)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func pruneSeen(ctx context.Context, tx *database.Tx) (int64, error) {
	return tx.Exec(ctx, `
		DELETE FROM agent_seen
		WHERE (org_id, agent_id, key_id) IN (
			SELECT org_id, agent_id, key_id FROM agent_seen WHERE last_seen_at < $1 LIMIT $2)`,
		database.Micros(tx.Now().Add(-forgetSeen)), pruneSlice)
}

func compareSightings(a, b Sighting) int {
	return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.KeyID, b.KeyID))
}

func (s *seen) isKnown(of Sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[of]
}

// stored remembers that a sighting is stored, and how many rows that added.
func (s *seen) stored(of Sighting, added int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[of] = true
	s.counts[of.OrgID] += added
}

// dropped forgets a sighting whose row is gone.
func (s *seen) dropped(of Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, of)
	delete(s.latest, of)
	s.counts[of.OrgID]--
}

// unknown has a sighting stored again when it is seen next.
func (s *seen) unknown(of Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, of)
}

// note keeps the later of two sightings, of those that are stored.
func (s *seen) note(of Sighting, last lastSeen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[of] && last.at.After(s.latest[of].at) {
		s.latest[of] = last
	}
}

func (s *seen) take() map[Sighting]lastSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.latest
	s.latest = map[Sighting]lastSeen{}
	return taken
}

func (s *seen) count(orgID string) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok = s.counts[orgID]
	return n, ok
}

func (s *seen) setCount(orgID string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[orgID] = n
}

// forget has everything looked up again.
func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
	clear(s.counts)
}

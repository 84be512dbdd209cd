package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// Keys may be made in another organization with one of this. They stop with it. Decisions
// there compare the generation of that organization's log, so it gets an entry too, by
// nobody's name: what its members see of it is that some of their keys are stopped.
//
// A stop is committed first in its own organization, which waits for no other. What follows
// from it elsewhere comes in further changes, at once if possible; what fails is tried again
// by Follow until it is done. An owner of the other organization may lift the stop there,
// which is recorded here.

const (
	// maxRounds is how often one look follows keys into yet another organization.
	maxRounds = 5
	// followWithin is how long the answer to a kill waits for other organizations.
	followWithin = 2 * time.Second
	// followedAtOnce is how many stops one look follows.
	followedAtOnce = 1_000

	revivedElsewhere = "agent.revived_elsewhere"
)

// Follow does in other organizations what stops, and their ends, have left to do there. Every
// replica calls it every few seconds.
func (s *Service) Follow(ctx context.Context) error {
	ids, err := database.Collect(ctx, s.db, database.Column[string],
		`SELECT id FROM agent_stop WHERE followed = 0 ORDER BY id LIMIT $1`, followedAtOnce)
	if err != nil {
		return fmt.Errorf("find stops that other organizations must follow: %w", err)
	}
	var failed []error
	for _, id := range ids {
		_, err := s.follow(ctx, id)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// followSoon follows a stop for a short while, and tells in how many organizations that is still
// to be done.
func (s *Service) followSoon(ctx context.Context, id string) (open int) {
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	open, err := s.follow(ctx, id)
	if err != nil {
		return max(open, 1)
	}
	return open
}

// follow does what a stop, or its end, has left to do in other organizations, each in a change of
// its own. Open is in how many that failed.
func (s *Service) follow(ctx context.Context, id string) (open int, err error) {
	for range maxRounds {
		stop, err := readFollowed(ctx, s.db, id)
		if err != nil {
			return 0, err
		}
		if stop.parent != "" {
			return 0, s.tellParent(ctx, stop)
		}
		orgs, err := s.orgsToFollow(ctx, s.db, stop)
		if err != nil {
			return 0, err
		}
		if len(orgs) == 0 {
			done, err := s.setFollowed(ctx, stop)
			if err != nil || done {
				return 0, err
			}
			continue // a key was made meanwhile
		}
		var failed []error
		for _, orgID := range orgs {
			if err := s.followIn(ctx, stop, orgID); err != nil {
				failed = append(failed, err)
			}
		}
		if len(failed) > 0 {
			return len(failed), errors.Join(failed...)
		}
	}
	return 1, nil // keys are being made in one organization after another; Follow goes on
}

// followed is a stop with its organization, which others follow.
type followed struct {
	Stop
	orgID  string
	lifted bool
}

// readFollowed reads a stop with its keys.
func readFollowed(ctx context.Context, r database.Reader, id string) (f followed, err error) {
	err = r.QueryRow(ctx, `
		SELECT id, org_id, scope, subject, CASE WHEN lifted_at IS NULL THEN 0 ELSE 1 END, parent_id
		FROM agent_stop
		WHERE id = $1`, id).Scan(&f.ID, &f.orgID, &f.Scope, &f.Subject, database.ToBool(&f.lifted),
		database.ToText(&f.parent))
	if err == nil {
		f.Keys, err = keysOfStop(ctx, r, id)
	}
	return f, database.Wrap(err, "read a stop that others follow")
}

// orgsToFollow are the other organizations in which keys are still to be stopped, or to be freed.
func (s *Service) orgsToFollow(ctx context.Context, r database.Reader, stop followed) ([]string, error) {
	if !stop.lifted {
		made, err := s.toStopElsewhere(ctx, r, stop)
		return slices.Sorted(maps.Keys(made)), err
	}
	orgs, err := database.Collect(ctx, r, database.Column[string], `
		SELECT DISTINCT org_id FROM agent_stop WHERE parent_id = $1 AND lifted_at IS NULL ORDER BY org_id`, stop.ID)
	return orgs, database.Wrap(err, "find what is stopped elsewhere")
}

// toStopElsewhere are the keys that those of a stop made in other organizations, by organization, without those that
// stop already because of it, and without those that an owner there has freed.
func (s *Service) toStopElsewhere(
	ctx context.Context, r database.Reader, stop followed,
) (map[string][]string, error) {
	made := map[string][]string{}
	_, err := database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var key, orgID string
		err = s.Scan(&key, &orgID)
		made[orgID] = append(made[orgID], key)
		return none, err
	}, `
		WITH RECURSIVE line (id) AS (
			SELECT key_id FROM agent_stop_key WHERE stop_id = $2
			UNION
			SELECT k.id FROM api_key k JOIN line l ON k.made_by = l.id
		), done (id) AS (
			SELECT k.key_id FROM agent_stop s
			JOIN agent_stop_key k ON k.stop_id = s.id
			WHERE s.org_id <> $1 AND s.parent_id IS NOT NULL
				AND (s.parent_id = $2 AND s.lifted_at IS NULL OR s.lifted_by <> '')
			UNION
			SELECT k.id FROM api_key k
			JOIN done d ON k.made_by = d.id
			JOIN api_key m ON m.id = d.id AND m.org_id = k.org_id
		)
		SELECT k.id, k.org_id FROM api_key k
		JOIN line l ON k.id = l.id
		WHERE k.org_id <> $1 AND NOT EXISTS (SELECT 1 FROM done d WHERE d.id = k.id)
		ORDER BY k.id`, stop.orgID, stop.ID)
	return made, database.Wrap(err, "find the keys to stop in other organizations")
}

// followIn stops or frees the keys of one organization. It holds both logs: what is decided here stays true.
func (s *Service) followIn(ctx context.Context, stop followed, orgID string) error {
	return s.db.Write(ctx, database.Change{
		Lane: database.Urgent, Logs: []string{audit.LogOf(stop.orgID), audit.LogOf(orgID)},
		Do: func(ctx context.Context, tx *database.Tx) error {
			now, err := readFollowed(ctx, tx, stop.ID)
			if err != nil {
				return err
			}
			if now.lifted {
				return s.liftIn(ctx, tx, now, orgID)
			}
			made, err := s.toStopElsewhere(ctx, tx, now)
			if err != nil || len(made[orgID]) == 0 {
				return err
			}
			return s.stopIn(ctx, tx, now, orgID, made[orgID])
		},
	})
}

// stopIn stops keys of another organization, and has its people notified as of a trip.
func (s *Service) stopIn(ctx context.Context, tx *database.Tx, parent followed, orgID string, keys []string) error {
	if len(keys) > maxStopKeys {
		var err error
		if keys, err = enteredBy(ctx, tx, orgID, keys); err != nil {
			return err
		}
	}
	child := Stop{
		ID:        database.NewID(),
		Scope:     OfKey,
		Subject:   keys[0],
		Keys:      keys,
		StoppedAt: tx.Now(),
		parent:    parent.ID,
		Reason:    "a key that these come from was stopped in another organization",
	}
	if err := child.begin(ctx, tx, s.log, principal.Operator(), orgID, child.payload()); err != nil {
		return err
	}
	if s.sources.Tripped == nil {
		return nil
	}
	return s.sources.Tripped(ctx, tx, orgID, child)
}

// enteredBy are those of some keys of an organization by which a line enters it: the others come from them.
func enteredBy(ctx context.Context, r database.Reader, orgID string, keys []string) ([]string, error) {
	entries, err := database.Collect(ctx, r, database.Column[string], `
		SELECT k.id FROM api_key k
		JOIN api_key m ON m.id = k.made_by
		WHERE k.org_id = $1 AND COALESCE(m.org_id, '') <> $1
		ORDER BY k.id`, orgID)
	slices.Sort(keys)
	entries = slices.DeleteFunc(entries, func(id string) bool {
		_, concerned := slices.BinarySearch(keys, id)
		return !concerned
	})
	if err == nil && len(entries) == 0 {
		entries = keys
	}
	return entries, database.Wrap(err, "find by which keys a line enters an organization")
}

// liftIn lifts what a stop has stopped in another organization.
func (s *Service) liftIn(ctx context.Context, tx *database.Tx, parent followed, orgID string) error {
	children, err := database.Collect(ctx, tx, func(s database.Scanner) (c Stop, err error) {
		c.Scope = OfKey
		err = s.Scan(&c.ID, &c.Subject)
		return c, err
	}, `
		SELECT id, subject FROM agent_stop
		WHERE parent_id = $1 AND org_id = $2 AND lifted_at IS NULL
		ORDER BY id`, parent.ID, orgID)
	if err != nil {
		return fmt.Errorf("read what is stopped elsewhere: %w", err)
	}
	for _, c := range children {
		if c.Keys, err = keysOfStop(ctx, tx, c.ID); err != nil {
			return err
		}
		index, err := s.recordLifted(ctx, tx, orgID, c)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE agent_stop
			SET lifted_by = '', lifted_at = $2, lifted_position = $3
			WHERE id = $1`, c.ID, database.Micros(tx.Now()), index)
		if err != nil {
			return fmt.Errorf("lift what is stopped elsewhere: %w", err)
		}
	}
	return nil
}

// setFollowed notes that nothing is left to do elsewhere, if that is so.
func (s *Service) setFollowed(ctx context.Context, stop followed) (done bool, err error) {
	err = s.db.Write(ctx, database.Change{
		Logs: []string{audit.LogOf(stop.orgID)},
		Do: func(ctx context.Context, tx *database.Tx) error {
			now, err := readFollowed(ctx, tx, stop.ID)
			if err != nil {
				return err
			}
			orgs, err := s.orgsToFollow(ctx, tx, now)
			if done = len(orgs) == 0; err != nil || !done {
				return err
			}
			return markFollowed(ctx, tx, stop.ID)
		},
	})
	return done, err
}

// tellParent records that an owner of another organization has lifted what a stop of this one stopped there.
func (s *Service) tellParent(ctx context.Context, child followed) error {
	parent, err := readFollowed(ctx, s.db, child.parent)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{
		Logs: []string{audit.LogOf(parent.orgID)},
		Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := s.log.Append(ctx, tx, audit.Entry{
				Log: audit.LogOf(parent.orgID), Action: revivedElsewhere, Actor: principal.Operator(),
				Subject:     audit.Subject{Type: string(parent.Scope), ID: parent.subjectID(parent.orgID)},
				Payload:     map[string]any{"stop": parent.ID, "keys": len(child.Keys)},
				Observation: true,
			})
			if err != nil {
				return err
			}
			return markFollowed(ctx, tx, child.ID)
		},
	})
}

// recordLifted records in the log of keys' organization that they are not stopped any more.
func (s *Service) recordLifted(ctx context.Context, tx *database.Tx, orgID string, stop Stop) (int64, error) {
	entry, err := s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(orgID), Action: ledger.Revived, Actor: principal.Operator(),
		Subject: audit.Subject{Type: string(OfKey), ID: stop.Subject},
		Stop:    ledger.Stop{Scope: string(OfKey), Keys: stop.recordedKeys(), IDs: []string{stop.ID}},
		Payload: stop.payload(),
	})
	if err != nil {
		return 0, err
	}
	return entry.Index, nil
}

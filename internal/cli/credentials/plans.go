package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Plan is a plan that was declared from here, with the token that calls send.
type Plan struct {
	URL        string    `json:"url"` // of the server that knows it
	ID         string    `json:"planId"`
	Token      string    `json:"token"`
	Servers    []string  `json:"servers,omitempty"` // that its steps name
	DeclaredAt time.Time `json:"declaredAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// SavePlan stores a plan, and removes those that have expired.
func (s Store) SavePlan(p Plan) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.MkdirAll(s.planFolder(), 0o700); err != nil {
		return fmt.Errorf("make the folder of plans: %w", err)
	}
	saved, err := s.listPlans()
	if err != nil {
		return err
	}
	for _, old := range saved {
		if old.ExpiresAt.Before(time.Now()) {
			_ = os.Remove(s.planPath(old.ID)) // one that stays is still expired
		}
	}
	return planFile.write(s.planPath(p.ID), p)
}

// FindPlan is a plan of a server: the one with an id or, without an id, the one declared last. Where that has expired
// the server says so: an older plan, which may permit more, never takes its place. It fails with ErrNone where there is
// none.
func (s Store) FindPlan(server, id string) (Plan, error) {
	saved, err := s.listPlans()
	if err != nil {
		return Plan{}, err
	}
	saved = slices.DeleteFunc(saved, func(p Plan) bool {
		return !sameServer(p.URL, server) || id != "" && p.ID != id
	})
	if len(saved) == 0 {
		return Plan{}, ErrNone
	}
	return slices.MaxFunc(saved, func(a, b Plan) int { return a.DeclaredAt.Compare(b.DeclaredAt) }), nil
}

func (s Store) planFolder() string { return filepath.Join(s.Folder, "plans") }

func (s Store) planPath(id string) string {
	return filepath.Join(s.planFolder(), filepath.Base(id)+".json")
}

func (s Store) listPlans() ([]Plan, error) {
	if s.Folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.planFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the plans: %w", err)
	}
	var plans []Plan
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		var p Plan
		err := planFile.read(filepath.Join(s.planFolder(), entry.Name()), true, &p)
		if errors.Is(err, ErrNone) {
			continue // another writ has just dropped it
		}
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

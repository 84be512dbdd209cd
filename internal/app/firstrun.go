package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/template"
	"writ/internal/principal"
	"writ/internal/secret"
)

// The first account and organization of an empty database.
const (
	FirstEmail        = "owner@localhost"
	firstOrganization = "My organization"
	firstKeyName      = "first key"
	starterTemplate   = "starter"
)

// FirstRun is what the first owner signs in with. It is shown once.
type FirstRun struct {
	URL            string `json:"url"`
	Email          string `json:"email"`
	Password       string `json:"password"`
	OrganizationID string `json:"organizationId"`
	APIKey         string `json:"apiKey"`
	PolicyID       string `json:"policyId"` // of the starter policy, a draft
}

// FirstRunPath is the file the first start leaves its secrets in.
func FirstRunPath(c config.Config) string { return filepath.Join(c.DataDir, "first-run.json") }

var errNotEmpty = errors.New("the database is not empty")

// firstRun makes the first owner, organization and key of an empty database. The file is
// written before the commit and removed if that fails: whenever the account exists, so
// does the only copy of its password.
func (a *Areas) firstRun(ctx context.Context, c config.Config, url string) (*FirstRun, error) {
	if empty, err := a.Auth.Empty(ctx, a.Database); err != nil || !empty {
		return nil, err
	}
	first := &FirstRun{
		URL: url, Email: FirstEmail, Password: secret.Password(20).Reveal(), OrganizationID: database.NewID(),
	}
	user, hash, err := a.Auth.Prepare(ctx, auth.NewUser{
		Email: first.Email, Password: secret.NewText(first.Password), Name: "Owner",
	})
	if err != nil {
		return nil, fmt.Errorf("first run: %w", err)
	}
	err = a.Database.Write(ctx, database.Change{
		Logs: []string{audit.System, first.OrganizationID},
		Do: func(ctx context.Context, tx *database.Tx) error {
			if empty, err := a.Auth.Empty(ctx, tx); err != nil || !empty {
				return errors.Join(errNotEmpty, err)
			}
			if err := a.addFirst(ctx, tx, user, hash, first); err != nil {
				return err
			}
			return first.keep(FirstRunPath(c))
		},
	})
	if err != nil {
		if errors.Is(err, errNotEmpty) {
			return nil, nil // another replica was faster
		}
		err = fmt.Errorf("first run: %w", err)
		if fault.Is(err, fault.Unavailable) {
			return nil, err // perhaps it was committed: the next start finds out
		}
		return nil, errors.Join(err, removeIfThere(FirstRunPath(c)))
	}
	return first, nil
}

func (a *Areas) addFirst(ctx context.Context, tx *database.Tx, user auth.User, hash string, first *FirstRun) error {
	now := tx.Now()
	user.VerifiedAt = &now
	operator := principal.Operator()
	if err := a.Auth.AddUser(ctx, tx, operator, &user, hash); err != nil {
		return err
	}
	if _, err := a.Organizations.Add(ctx, tx, operator, first.OrganizationID, user.ID, firstOrganization); err != nil {
		return err
	}
	key, err := a.Keys.Add(ctx, tx, operator, user.ID, apikey.NewKey{Name: firstKeyName, OrgID: first.OrganizationID})
	if err != nil {
		return err
	}
	// A draft, which the owner may activate. Until then everything is denied.
	starter, err := a.Policies.Add(ctx, tx, operator, first.OrganizationID, starterPolicy())
	first.APIKey, first.PolicyID = key.Secret.Reveal(), starter.ID
	return err
}

func (f *FirstRun) keep(path string) error {
	content, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := writePrivate(path, append(content, '\n')); err != nil {
		return fmt.Errorf("keep the first secrets: %w", err)
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// starterPolicy is the policy a new organization may begin with.
func starterPolicy() policy.Source {
	starter, _ := template.Get(starterTemplate)
	return policy.Source{Text: starter.Text, Format: document.YAML}
}

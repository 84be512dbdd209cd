package federation

import (
	"context"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
)

// Replaced are the identity providers of a database that a backup replaces: by organization, as far as they are known.
type Replaced map[string]trusted

// trusted is whom an organization lets vouch for people; the zero value: nobody.
type trusted struct{ issuer, clientID string }

// ReadReplaced reads the identity providers of an SQLite database that a backup replaces.
func ReadReplaced(ctx context.Context, r database.Reader) (Replaced, error) {
	has, err := database.ReplacedHas(ctx, r, "identity_provider", "org_id", "issuer", "client_id")
	if err != nil || !has {
		return nil, err
	}
	before := Replaced{}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var orgID string
		var t trusted
		err = s.Scan(&orgID, database.ToText(&t.issuer), database.ToText(&t.clientID))
		before[orgID] = t
		return none, err
	}, `SELECT o.id, p.issuer, p.client_id FROM organization o LEFT JOIN identity_provider p ON p.org_id = o.id`)
	return before, database.Wrap(err, "read the identity providers")
}

// RemoveAgain removes the identity providers that were removed since the backup, or replaced by another one, and names
// them. The other one is set up again by a person.
func RemoveAgain(ctx context.Context, tx *database.Tx, log *audit.Log, before Replaced) (names []string, err error) {
	restored, err := database.Collect(ctx, tx, func(s database.Scanner) (p Provider, err error) {
		err = s.Scan(&p.OrgID, &p.Issuer, &p.ClientID)
		return p, err
	}, `SELECT org_id, issuer, client_id FROM identity_provider ORDER BY org_id`)
	if err != nil {
		return nil, database.Wrap(err, "read the identity providers")
	}
	for _, p := range restored {
		now, known := before[p.OrgID]
		if !known || now == (trusted{p.Issuer, p.ClientID}) {
			continue
		}
		if err := deleteProvider(ctx, tx, p.OrgID); err != nil {
			return nil, err
		}
		_, err := log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      "identity_provider.deleted",
			Actor:       principal.Operator(),
			Subject:     audit.Subject{Type: "identity_provider", ID: p.OrgID},
			Payload:     map[string]any{"issuer": p.Issuer, "clientId": p.ClientID, "restored": true},
			Observation: true,
		})
		if err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprintf("%s of organization %s", p.Issuer, p.OrgID))
	}
	return names, nil
}

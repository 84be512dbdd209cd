package apikey

import (
	"context"
	"slices"
	"time"

	"writ/internal/database"
	"writ/internal/principal"
)

const handedOver action = "key.handed_over"

// OrganizationsOf are the organizations in which a person has keys that are not revoked, sorted; empty for keys that
// are bound to none.
func OrganizationsOf(ctx context.Context, r database.Reader, ownerID string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], `
		SELECT DISTINCT COALESCE(org_id, '')
		FROM api_key
		WHERE owner_id = $1 AND revoked_at IS NULL
		ORDER BY 1`, ownerID)
	return ids, database.Wrap(err, "list the organizations of the keys of %s", ownerID)
}

// secretOutlives is how long the secret of a key that was handed over works: its former owner knows it, and agents
// must go on until the new owner has replaced it.
const secretOutlives = 7 * 24 * time.Hour

// HandedOver are the keys of an organization that a person got from one who left.
type HandedOver struct {
	OrgID, HeirID string
	Keys          []Key
	Until         time.Time // their secrets end then at the latest
}

// EndOf revokes the keys of a person whose account ends, within that change, which declares the logs of OrganizationsOf
// and calls Forget afterwards. Keys of agents go on with a new owner where heirs, by organization, names one, who must
// rotate them soon; those of terminals and consents stand for the person and end, and so do the scopes to write
// policies: whoever left knows the secret, and would read and write policies in the new owner's name.
func (s *Service) EndOf(
	ctx context.Context, tx *database.Tx, by principal.Principal, ownerID string, heirs map[string]string,
) (handed []HandedOver, err error) {
	keys, err := database.Collect(ctx, tx, scanKey, `SELECT `+columns+`
		FROM api_key k
		WHERE k.owner_id = $1 AND k.revoked_at IS NULL
		ORDER BY k.org_id, k.created_at, k.id`, ownerID)
	if err != nil {
		return nil, database.Wrap(err, "list the keys of %s", ownerID)
	}
	for _, k := range keys {
		heir := heirs[k.OrgID]
		scopes := slices.DeleteFunc(slices.Clone(k.Scopes), principal.Scope.WritesPolicies)
		if heir == "" || k.OrgID == "" || k.Hidden || slices.Contains(k.Scopes, principal.CLI) || len(scopes) == 0 ||
			k.Status(tx.Now()) != "active" {
			if _, err := markRevoked(ctx, tx, k.ID); err != nil {
				return nil, err
			}
			if err := s.record(ctx, tx, by, revoked, k, nil); err != nil {
				return nil, err
			}
			continue
		}
		k.Scopes = scopes
		if k, err = s.handOver(ctx, tx, by, k, heir); err != nil {
			return nil, err
		}
		if n := len(handed); n == 0 || handed[n-1].OrgID != k.OrgID {
			handed = append(handed, HandedOver{OrgID: k.OrgID, HeirID: heir, Until: tx.Now().Add(secretOutlives)})
		}
		handed[len(handed)-1].Keys = append(handed[len(handed)-1].Keys, k)
	}
	return handed, nil
}

// handOver gives a key to another owner, and an end to its secret. The key that replaces it lives as long as this one
// would have.
func (s *Service) handOver(
	ctx context.Context, tx *database.Tx, by principal.Principal, k Key, heir string,
) (Key, error) {
	next := k.replacementExpires()
	now, ends := tx.Now(), tx.Now().Add(secretOutlives)
	if k.ExpiresAt == nil || ends.Before(*k.ExpiresAt) {
		k.ExpiresAt = &ends
	}
	_, err := tx.Exec(ctx, `
		UPDATE api_key
		SET owner_id = $2, handed_over_at = $3, expires_at = $4, next_expires_at = $5, scopes = $6
		WHERE id = $1`, k.ID, heir, database.Micros(now), database.OptionalMicros(k.ExpiresAt),
		database.OptionalMicros(next), joinScopes(k.Scopes, " "))
	if err != nil {
		return Key{}, database.Wrap(err, "hand over API key %s", k.ID)
	}
	k.OwnerID, k.HandedOverAt, k.NextExpiry = heir, &now, next
	return k, s.record(ctx, tx, by, handedOver, k, nil)
}

// replacementExpires is when the key that replaces this one expires.
func (k Key) replacementExpires() *time.Time {
	if k.HandedOverAt != nil {
		return k.NextExpiry
	}
	return k.ExpiresAt
}

package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

func sealContext(id string) string { return "mcp-connection/" + id }

func (s *Service) seal(id string, tokens held) ([]byte, error) {
	text, err := json.Marshal(tokens)
	if err != nil {
		return nil, err
	}
	return s.Sealer.Seal(sealContext(id), text), nil
}

func (s *Service) open(c *Connection) (tokens held, err error) {
	text, err := s.Sealer.Open(sealContext(c.ID), c.sealed)
	if err != nil {
		return held{}, fmt.Errorf("open the tokens of connection %s: %w", c.ID, err)
	}
	return tokens, json.Unmarshal(text, &tokens)
}

// Token is the person's token for a server of the organization, renewed if it is about to end. A Forbidden fault says
// how the person consents.
func (s *Service) Token(ctx context.Context, orgID, userID string, server Server) (secret.Text, error) {
	if userID == "" {
		return secret.Text{}, s.missing(server)
	}
	if err := s.Sources.Acts(ctx, orgID, userID); err != nil {
		return secret.Text{}, err
	}
	for tries := 0; ; tries++ {
		c, err := findOf(ctx, s.db.Prepared(), orgID, server.ID, userID)
		if fault.Is(err, fault.NotFound) || err == nil && c.url != server.URL {
			return secret.Text{}, s.missing(server)
		}
		if err != nil {
			return secret.Text{}, err
		}
		if c.ExpiresAt == nil || c.ExpiresAt.After(s.db.Now().Add(renewBefore)) {
			tokens, err := s.open(&c)
			return secret.NewText(tokens.Access), err
		}
		if err := s.renew(ctx, &c, server); err != nil {
			return secret.Text{}, err
		}
		if tries > 2 {
			return secret.Text{}, fault.Wrap(errNotRenewed, fault.Unavailable,
				"the MCP server %s gives tokens that end at once", server.Name)
		}
	}
}

// Spent notes that a server refuses the token that it was given, so that the next call has another.
func (s *Service) Spent(ctx context.Context, orgID, userID string, server Server, token secret.Text) error {
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		c, err := findOf(ctx, tx, orgID, server.ID, userID)
		if err != nil {
			return err
		}
		if tokens, err := s.open(&c); err != nil || !token.Equal(tokens.Access) {
			return err // it has another by now
		}
		return expire(ctx, tx, c.ID)
	}})
}

// renew has the tokens renewed, by this replica or another.
func (s *Service) renew(ctx context.Context, c *Connection, server Server) error {
	tokens, err := s.open(c)
	if err != nil {
		return err
	}
	if tokens.Refresh == "" {
		return s.lose(ctx, c, server, "its token has ended, and there is none to renew it with")
	}
	var mine bool
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) (err error) {
		mine, err = claim(ctx, tx, c, tx.Now().Add(renewTime))
		return err
	}})
	if err != nil {
		return err
	}
	if !mine {
		return s.await(ctx, c)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	got, err := s.ask(limited, c.place, c.ClientID, tokens.Secret, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}, "resource": {c.Resource},
	})
	if errors.Is(err, errRefused) {
		return s.lose(limited, c, server, "the authorization server does not renew its tokens")
	}
	if err == nil {
		err = s.replace(limited, c, tokens, got)
	}
	if err != nil {
		undo := func(ctx context.Context, tx *database.Tx) error { return unclaim(ctx, tx, c) }
		err = errors.Join(err, s.db.Write(limited, database.Change{Do: undo}))
		return fault.Wrap(err, fault.Unavailable, "the token for the MCP server %s could not be renewed: try again",
			server.Name)
	}
	return nil
}

// replace stores new tokens. An authorization server that gives no other token to renew with lets the old one be used.
func (s *Service) replace(ctx context.Context, c *Connection, before held, got granted) error {
	after := held{Access: got.Access, Refresh: got.Refresh, Secret: before.Secret}
	if after.Refresh == "" {
		after.Refresh = before.Refresh
	}
	sealed, err := s.seal(c.ID, after)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return storeTokens(ctx, tx, c, sealed, got.expiry(tx.Now()))
	}})
}

// await waits until another replica has renewed the tokens, or has not.
func (s *Service) await(ctx context.Context, c *Connection) error {
	limited, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-limited.Done():
			return fault.Wrap(errNotRenewed, fault.Unavailable, "the token for the MCP server could not be renewed: try again")
		case <-ticker.C:
		}
		now, err := findConnection(limited, s.db, c.OrgID, c.ID)
		if fault.Is(err, fault.NotFound) || err == nil && now.revision != c.revision {
			return nil // whoever asked looks again
		}
		if err != nil {
			return err
		}
	}
}

// lose ends a connection that nobody can use any more.
func (s *Service) lose(ctx context.Context, c *Connection, server Server, reason string) error {
	err := s.write(ctx, c.OrgID, func(ctx context.Context, tx *database.Tx) error {
		now, err := findConnection(ctx, tx, c.OrgID, c.ID)
		if fault.Is(err, fault.NotFound) || err == nil && now.revision != c.revision {
			return nil // it was ended or made anew meanwhile
		}
		if err != nil {
			return err
		}
		if err := remove(ctx, tx, c.ID); err != nil {
			return err
		}
		return s.record(ctx, tx, principal.Operator(), lost, &now, reason)
	})
	if err != nil {
		return err
	}
	return s.missing(server)
}

package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
)

// Changes are the parts of a server that an update replaces; nil: as it is.
type Changes struct {
	Description, Transport, URL *string
	Command                     *[]string
	Auth                        *Auth // without a secret: the one that it has, if the address stays
	Metadata                    *jsontext.Value
	Status                      *Status
	Reason                      string
	// Seen is ListedHash of what the person has seen of a server that they approve; empty: they do not say. To approve
	// an approved server with it accepts the held tools as they are listed.
	Seen string
}

// acceptsListed reports whether a person approves once more a server of which tools are held.
func (c *Changes) acceptsListed(before *Server) bool {
	return c.Status != nil && *c.Status == Approved && before.Status == Approved && c.Seen != "" && before.Held > 0
}

// Update changes a server, for all later decisions. Approving one pins its tools as they are listed then.
// If it has not listed any yet, its first list is held.
func (s *Service) Update(ctx context.Context, p principal.Principal, id string, c Changes) (Server, error) {
	if err := requireManager(p); err != nil {
		return Server{}, err
	}
	var after Server
	var moved bool
	err := s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		before, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		after, err = s.apply(p, before, c, tx.Now())
		if err != nil {
			return err
		}
		moved = after.URL != "" && (after.URL != before.URL || after.Transport != before.Transport || c.Auth != nil)
		if err := update(ctx, tx, &after); err != nil {
			return err
		}
		if err := s.record(ctx, tx, p, updated, &after, after.payload(), false); err != nil {
			return err
		}
		if err := s.settleStatus(ctx, tx, p, before, &after, c); err != nil {
			return err
		}
		if err := s.redefined(ctx, tx, p, &after); err != nil {
			return err
		}
		if err := s.settleNotices(ctx, tx, &after); err != nil {
			return err
		}
		after, err = find(ctx, tx, p.OrgID, after.ID)
		return err
	})
	if err == nil && moved {
		return s.askNow(ctx, p, after)
	}
	return after, err
}

// settleNotices settles what people were told of a server that is denied, or of which nothing is held any more.
func (s *Service) settleNotices(ctx context.Context, tx *database.Tx, after *Server) error {
	if after.Status != Approved && s.Notify.Released != nil {
		return s.Notify.Released(ctx, tx, after.OrgID, after.ID)
	}
	if after.Health.Unreadable { // all of its tools are held still
		return nil
	}
	return s.notifyReleased(ctx, tx, after)
}

// settleStatus does what follows from what a person says of the server.
func (s *Service) settleStatus(
	ctx context.Context, tx *database.Tx, p principal.Principal, before Server, after *Server, c Changes,
) error {
	switch {
	case c.acceptsListed(&before):
		return s.acceptListed(ctx, tx, p, after, strings.TrimSpace(c.Reason))
	case after.Status == Approved && before.Status != Approved:
		_, _, err := s.pinListed(ctx, tx, p, after)
		return err
	case after.Status == Denied && before.Status != Denied:
		return s.refused(ctx, tx, p, after, "the MCP server was denied")
	}
	return nil
}

// apply is the server with the changes.
func (s *Service) apply(p principal.Principal, before Server, c Changes, now time.Time) (Server, error) {
	after := before
	r := Registration{
		Name:        before.Name,
		Description: valueOr(c.Description, before.Description),
		Transport:   valueOr(c.Transport, before.Transport),
		URL:         valueOr(c.URL, before.URL),
		Command:     valueOr(c.Command, before.Command),
		Auth: valueOr(c.Auth, Auth{
			Type: before.Auth.Type, Header: before.Auth.Header, ClientID: before.Auth.ClientID,
		}),
	}
	r, err := s.checked(r)
	if err != nil {
		return Server{}, err
	}
	if before.Auth.HasSecret && !r.Auth.Secret.IsSet() && r.Auth.Type != definition.AuthNone &&
		origin(r.URL) != origin(before.URL) {
		return Server{}, fault.Field("auth",
			"must be given with a URL on another host: the old secret must not be sent there")
	}
	after.Description, after.Transport, after.URL, after.Command = r.Description, r.Transport, r.URL, r.Command
	if r.Auth.Secret.IsSet() || r.Auth.Type == definition.AuthNone || r.Auth.Type == definition.AuthOAuth {
		after.seal(s.Sealer, r.Auth)
	} else {
		after.Auth.Type, after.Auth.Header, after.Auth.ClientID = r.Auth.Type, r.Auth.Header, ""
	}
	if c.Metadata != nil {
		if after.Metadata, err = checkMetadata(*c.Metadata); err != nil {
			return Server{}, err
		}
	}
	return after, after.decide(p, c, now)
}

// decide applies what a person says of the server.
func (made *Server) decide(p principal.Principal, c Changes, now time.Time) error {
	if c.Seen != "" && c.Seen != made.ListedHash { // also of one that is approved: the person believes something else
		return fault.New(fault.Conflict, "the server lists something else than you have seen: look at it again")
	}
	if c.acceptsListed(made) {
		_, err := checkReason(c.Reason) // as of each held tool that is accepted
		return err
	}
	if c.Status == nil || *c.Status == made.Status {
		return nil
	}
	if *c.Status != Approved && *c.Status != Denied {
		return fault.Field("status", "must be approved or denied")
	}
	reason := ""
	if *c.Status == Denied || c.Reason != "" {
		var err error
		if reason, err = checkReason(c.Reason); err != nil {
			return err
		}
	}
	made.Status, made.DecidedBy, made.DecidedAt, made.Reason = *c.Status, p.UserID, &now, reason
	return nil
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

package mcp

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Register registers a server and asks it what it offers. What a key registers is pending until a person
// approves it. To register a server that is known changes nothing for a key, and is a conflict for a person,
// unless only keys know it.
func (s *Service) Register(ctx context.Context, p principal.Principal, r Registration) (Server, error) {
	byKey := p.Kind == principal.Key
	if byKey && p.OrgID == "" {
		return Server{}, fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	if !byKey {
		if err := requireManager(p); err != nil {
			return Server{}, err
		}
	}
	r, err := s.checked(r)
	if err != nil {
		return Server{}, err
	}
	var made Server
	known := false
	offered := r.offered()
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		made, known, err = s.add(ctx, tx, p, r, offered)
		return err
	})
	if err != nil || known || made.URL == "" || byKey { // what a key proposes is asked behind the scenes
		return made, err
	}
	return s.firstLook(ctx, p, made)
}

// checked refuses addresses that nobody may call, and secrets that would travel in the open.
func (s *Service) checked(r Registration) (Registration, error) {
	r, err := r.checked()
	if err != nil || r.URL == "" {
		return r, err
	}
	return r, s.checkURL(r.URL, r.Auth)
}

func (s *Service) checkURL(url string, a Auth) error {
	if err := s.CheckURL(url); err != nil {
		return fault.Field("url", "%s", err)
	}
	if a.Type != definition.AuthNone && !isTLS(url) && !s.MayBePlain(url) {
		return fault.Field("url", "must begin with https://, because a secret is sent there, unless the operator "+
			"allows the host with WRIT_OUTBOUND_ALLOW")
	}
	return nil
}

// add stores a server within a change. known: it was registered before, and a key registers it again.
func (s *Service) add(
	ctx context.Context, tx *database.Tx, p principal.Principal, r Registration, offered *offer,
) (made Server, known bool, err error) {
	before, err := findNamed(ctx, tx, p.OrgID, r.Name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Server{}, false, err
	}
	exists := err == nil
	byKey := p.Kind == principal.Key
	switch {
	case exists && byKey:
		return before, true, nil
	case exists && before.Status != Pending:
		return Server{}, false, fault.New(fault.Conflict,
			"an MCP server with this name is registered: change it in the dashboard, or remove it first: writ mcp remove NAME")
	}
	if err := refuseMany(ctx, tx, p, exists); err != nil {
		return Server{}, false, err
	}
	if exists { // what a key proposed under the name makes way
		if err := remove(ctx, tx, before.ID); err != nil {
			return Server{}, false, err
		}
	}
	made = s.newServer(p, r, tx.Now())
	if err := insert(ctx, tx, &made); err != nil {
		return Server{}, false, err
	}
	if err := s.recordMade(ctx, tx, p, &made); err != nil {
		return Server{}, false, err
	}
	if offered != nil {
		if err := s.settleTools(ctx, tx, p, &made, *offered); err != nil {
			return Server{}, false, err
		}
	}
	made, err = find(ctx, tx, p.OrgID, made.ID)
	return made, false, err
}

// offered scans what the caller says that a stdio server lists; nil: nothing.
func (r *Registration) offered() *offer {
	if r.Definition == nil {
		return nil
	}
	named := Server{Name: r.Name, Transport: r.Transport, Command: r.Command, Auth: r.Auth}
	listed := named.offered(*r.Definition)
	listed.agreed = true
	return &listed
}

func (s *Service) recordMade(ctx context.Context, tx *database.Tx, p principal.Principal, made *Server) error {
	action := registered
	if made.Status == Pending {
		action = proposed // decides nothing
	}
	return s.record(ctx, tx, p, action, made, made.payload(), made.Status == Pending)
}

func (s *Service) newServer(p principal.Principal, r Registration, now time.Time) Server {
	made := Server{
		ID:           database.NewID(),
		OrgID:        p.OrgID,
		Name:         r.Name,
		Description:  r.Description,
		Transport:    r.Transport,
		URL:          r.URL,
		Command:      r.Command,
		Auth:         r.Auth,
		Source:       r.Source,
		KeyID:        p.KeyID,
		RegisteredBy: p.UserID,
		Status:       Pending,
		CreatedAt:    now,
		revision:     1,
	}
	if p.Kind != principal.Key {
		made.Status, made.DecidedBy, made.DecidedAt = Approved, p.UserID, &now
	}
	made.seal(s.Sealer, r.Auth)
	return made
}

// seal keeps the secret of a server; without one the server keeps none.
func (made *Server) seal(sealer *secret.Sealer, a Auth) {
	made.Auth = a
	made.sealed = nil
	if a.Secret.IsSet() {
		made.sealed = sealer.Seal(sealContext(made.ID), []byte(a.Secret.Reveal()))
	}
	made.Auth.HasSecret, made.Auth.Secret = made.sealed != nil, secret.Text{}
}

func sealContext(id string) string { return "mcp-server/" + id }

// refuseMany bounds what an organization has, and what keys propose.
func refuseMany(ctx context.Context, tx *database.Tx, p principal.Principal, replaces bool) error {
	all, pending, mine, err := counts(ctx, tx, p.OrgID, p.KeyID)
	byKey := p.Kind == principal.Key
	switch {
	case err != nil:
		return err
	case all >= MaxServers && !replaces:
		return fault.New(fault.Conflict, "an organization has at most %d MCP servers", MaxServers)
	case byKey && mine >= maxProposals:
		return fault.New(fault.Conflict, "a key proposes at most %d MCP servers: a person decides about them first",
			maxProposals)
	case byKey && pending >= maxAllProposals:
		return fault.New(fault.Conflict, "%d MCP servers wait for a person: they must be decided first", pending)
	}
	return nil
}

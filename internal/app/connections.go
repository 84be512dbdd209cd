package app

import (
	"context"
	"strings"

	"writ/internal/auth"
	"writ/internal/connection"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/principal"
	"writ/internal/secret"
)

// newConnections makes what keeps people's consents at MCP servers.
func (a *Areas) newConnections(publicURL string) *connection.Service {
	s := connection.New(connection.Options{
		Database:   a.Database,
		Log:        a.log,
		Sealer:     a.sealer,
		Web:        a.outbound.WebClient(),
		MayBePlain: a.outbound.IsPermitted,
		PublicURL:  strings.TrimSuffix(publicURL, "/"),
		Sources:    connection.Sources{Server: a.serverByConsent, Live: auth.RequireLive, Acts: a.actsIn},
	})
	a.Servers.UserToken = func(ctx context.Context, orgID, userID string, of *mcp.Server) (secret.Text, error) {
		return s.Token(ctx, orgID, userID, connection.Server{ID: of.ID, Name: of.Name, URL: of.URL})
	}
	return s
}

// serverByConsent is an approved server that wants the consent of each person.
func (a *Areas) serverByConsent(ctx context.Context, orgID, idOrName string) (connection.Server, error) {
	reader := principal.Principal{Kind: principal.Key, OrgID: orgID} // the edge has checked who asks
	of, err := a.Servers.Get(ctx, reader, idOrName)
	if err != nil {
		return connection.Server{}, err
	}
	if of.Status != mcp.Approved || of.URL == "" || !of.ByConsent() {
		return connection.Server{}, fault.New(fault.Conflict,
			"nobody connects to this MCP server: it is not approved, or not registered with auth type oauth")
	}
	return connection.Server{ID: of.ID, Name: of.Name, URL: of.URL, ClientID: of.Auth.ClientID}, nil
}

// actsIn refuses a person who may have no keys in the organization any more.
func (a *Areas) actsIn(ctx context.Context, orgID, userID string) error {
	role, err := a.Organizations.RoleOf(ctx, orgID, userID)
	if err == nil && !role.May(principal.OwnKeys) {
		err = fault.New(fault.Forbidden, "the person whose key this is may not act in this organization any more")
	}
	return err
}

// tokenFor is the token of a person for a server that a call goes to.
func (a *Areas) tokenFor(ctx context.Context, orgID, userID string, of mcp.Reach) (secret.Text, error) {
	return a.Connections.Token(ctx, orgID, userID, connection.Server{ID: of.ID, Name: of.Name, URL: of.URL})
}

// spentAt notes that a server refuses a token.
func (a *Areas) spentAt(ctx context.Context, orgID, userID string, of mcp.Reach, token secret.Text) error {
	return a.Connections.Spent(ctx, orgID, userID, connection.Server{ID: of.ID, Name: of.Name, URL: of.URL}, token)
}

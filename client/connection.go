package client

import (
	"context"
	"time"
)

// Connecting is where a person consents at an MCP server's own authorization server.
type Connecting struct {
	AuthorizeURL string    `json:"authorizeUrl"`
	Issuer       string    `json:"issuer"`
	Server       string    `json:"server"`
	ExpiresAt    time.Time `json:"expiresAt"`
}

// Connection is a person's connection with an MCP server.
type Connection struct {
	ID         string     `json:"id"`
	OwnerID    string     `json:"ownerId"`
	ServerID   string     `json:"serverId"`
	ServerName string     `json:"serverName"`
	Issuer     string     `json:"issuer"`
	Resource   string     `json:"resource"`
	Scope      string     `json:"scope"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

func connectionsPath(orgID string) string { return organizationPath(orgID) + "/connections" }

// StartConnection begins to connect the person to an MCP server, by its id or name.
func (c *Client) StartConnection(ctx context.Context, orgID, server string) (Connecting, error) {
	return post[Connecting](ctx, c, connectionsPath(orgID), nil, map[string]string{"server": server})
}

// Connections is a page of connections, newest first.
func (c *Client) Connections(ctx context.Context, orgID string, l List) (Page[Connection], error) {
	return get[Page[Connection]](ctx, c, connectionsPath(orgID), l.with())
}

// EndConnection ends a connection.
func (c *Client) EndConnection(ctx context.Context, orgID, id string) error {
	return c.delete(ctx, connectionsPath(orgID)+"/"+segment(id), nil)
}

package client

import (
	"context"
	"net/http"
)

// RegisteredManifest is what became of a manifest.
type RegisteredManifest struct {
	Success       bool             `json:"success"`
	Message       string           `json:"message"`
	AgentID       string           `json:"agent_id"`
	Status        string           `json:"status"` // active, pending, none
	PolicyID      string           `json:"policy_id"`
	PolicyVersion int              `json:"policy_version"`
	ProxyEndpoint string           `json:"proxy_endpoint"`
	Changes       []ManifestChange `json:"changes"`
	Warnings      []string         `json:"warnings"`
	Servers       []ManifestServer `json:"mcp_servers"`
}

// ManifestServer is what became of an MCP server of a manifest.
type ManifestServer struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // pending, approved, denied, refused
	Problem string `json:"problem,omitempty"`
}

// ManifestChange is an entry that a list of a manifest gained or lost.
type ManifestChange struct {
	Kind  string `json:"kind"` // added or removed
	List  string `json:"list"` // allow or deny
	Entry string `json:"entry"`
}

// RegisterManifest registers the manifest of the key's agent. What it encodes to must
// hold no secrets: the server needs none.
func (c *Client) RegisterManifest(ctx context.Context, manifest any) (r RegisteredManifest, err error) {
	return r, c.Call(ctx, http.MethodPost, "/iap/sdk/register", nil, manifest, &r)
}

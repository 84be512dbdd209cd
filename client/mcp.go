package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// MCPServer is an MCP server that is registered or proposed by a key (pending).
type MCPServer struct {
	MCPID        string     `json:"mcpId"`
	Name         string     `json:"name"`
	MCPName      string     `json:"mcpName"`
	Status       string     `json:"status"` // pending, approved, denied
	Description  string     `json:"description"`
	Transport    string     `json:"transport"` // http, sse, stdio
	URL          string     `json:"url"`
	Command      []string   `json:"command,omitempty"`
	Auth         MCPAuth    `json:"auth"`
	Source       string     `json:"source"`
	KeyID        *string    `json:"keyId"`
	RegisteredBy string     `json:"registeredBy"`
	DecidedBy    *string    `json:"decidedBy"`
	DecidedAt    *time.Time `json:"decidedAt"`
	Reason       string     `json:"reason"`
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
	ListedHash   string     `json:"listedHash"` // of all that it listed last
	Instructions string     `json:"instructions"`
	Version      string     `json:"version"`
	ToolCount    int        `json:"toolCount"`
	HeldCount    int        `json:"heldCount"`
	Health       MCPHealth  `json:"health"`
}

// MCPAuth is how a server is called. A server that is read shows no secret.
type MCPAuth struct {
	Type       string `json:"type"` // none, bearer, api_key, oauth
	Token      string `json:"token,omitempty"`
	APIKey     string `json:"api_key,omitempty"`
	HeaderName string `json:"header_name,omitempty"`
	ClientID   string `json:"client_id,omitempty"` // of oauth
	HasSecret  bool   `json:"hasSecret,omitempty"`
}

// MCPHealth is how a server answered last.
type MCPHealth struct {
	Status    string     `json:"status"` // unknown, healthy, failing, unreadable
	Since     *time.Time `json:"since"`
	CheckedAt *time.Time `json:"checkedAt"`
	LatencyMs int64      `json:"latencyMs"`
	Problem   string     `json:"problem"`
	Watched   bool       `json:"watched"`

	Uptime  *float64   `json:"uptime,omitempty"`
	History []MCPCheck `json:"history,omitempty"`
}

// MCPCheck is how a server answered once.
type MCPCheck struct {
	At        time.Time `json:"at"`
	Healthy   bool      `json:"healthy"`
	LatencyMs int64     `json:"latencyMs"`
	Problem   string    `json:"problem"`
}

// NewMCPServer describes a server to be registered.
type NewMCPServer struct {
	Name        string          `json:"name"`
	URL         string          `json:"url,omitempty"`
	Description string          `json:"description,omitempty"`
	Transport   string          `json:"transport,omitempty"`
	Command     []string        `json:"command,omitempty"`
	Auth        *MCPAuth        `json:"auth,omitempty"`
	Source      string          `json:"source,omitempty"`
	Definition  json.RawMessage `json:"definition,omitempty"`
}

// MCPTool is a tool of a server.
type MCPTool struct {
	Name        string    `json:"name"`
	State       string    `json:"state"` // listed, pinned, changed, new, moved, returned, gone
	Held        bool      `json:"held"`
	Why         string    `json:"why"`
	MovedFrom   string    `json:"movedFrom,omitempty"`
	Since       time.Time `json:"since"`
	Hash        string    `json:"hash"`
	Class       string    `json:"class"`
	ClassFrom   string    `json:"classFrom"`
	Suggested   string    `json:"suggestedClass"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	// InputSchema and Annotations are as the server sent them; {} where it sent none.
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations json.RawMessage `json:"annotations"`
	Diff        []MCPChange     `json:"diff"`
	AcceptedBy  *string         `json:"acceptedBy"`
	AcceptedAt  *time.Time      `json:"acceptedAt"`
}

// MCPChange is one difference between a tool and what a person has accepted.
type MCPChange struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func mcpPath(id string) string { return "/mcp/servers/" + segment(id) }

// RegisterMCPServer registers a server. With a key, orgID is empty, and the server is pending.
func (c *Client) RegisterMCPServer(ctx context.Context, orgID string, n NewMCPServer) (MCPServer, error) {
	return post[MCPServer](ctx, c, "/mcp/register", inOrg(orgID), n)
}

// MCPServers lists the servers of an organization by name; an empty status: all.
func (c *Client) MCPServers(ctx context.Context, orgID, status string) ([]MCPServer, error) {
	found, err := get[struct {
		Servers []MCPServer `json:"servers"`
	}](ctx, c, "/mcp/servers", List{}.with("organizationId", orgID, "status", status))
	return found.Servers, err
}

// MCPServer reads a server by its id or name.
func (c *Client) MCPServer(ctx context.Context, orgID, id string) (MCPServer, error) {
	return get[MCPServer](ctx, c, mcpPath(id), inOrg(orgID))
}

// UpdateMCPServer changes the named members of a server.
func (c *Client) UpdateMCPServer(ctx context.Context, orgID, id string, changes map[string]any) (MCPServer, error) {
	return call[MCPServer](ctx, c, http.MethodPatch, mcpPath(id), inOrg(orgID), changes)
}

// RemoveMCPServer removes a server and its pins.
func (c *Client) RemoveMCPServer(ctx context.Context, orgID, id string) error {
	return c.Call(ctx, http.MethodDelete, mcpPath(id), inOrg(orgID), nil, nil)
}

// RefreshMCPServer asks a server now what it lists.
func (c *Client) RefreshMCPServer(ctx context.Context, orgID, id string) (MCPServer, error) {
	return post[MCPServer](ctx, c, mcpPath(id)+"/refresh", inOrg(orgID), nil)
}

// ReportMCPServer reports what a stdio server lists.
func (c *Client) ReportMCPServer(ctx context.Context, orgID, id string, definition json.RawMessage) (MCPServer, error) {
	return put[MCPServer](ctx, c, mcpPath(id)+"/definition", inOrg(orgID), definition)
}

// MCPTools lists the tools of a server by name.
func (c *Client) MCPTools(ctx context.Context, orgID, id string) ([]MCPTool, error) {
	found, err := get[struct {
		Items []MCPTool `json:"items"`
	}](ctx, c, mcpPath(id)+"/tools", inOrg(orgID))
	return found.Items, err
}

// AcceptMCPTool accepts a held tool as it is listed with a hash.
func (c *Client) AcceptMCPTool(ctx context.Context, orgID, id, tool, hash, reason string) (MCPTool, error) {
	return post[MCPTool](ctx, c, mcpPath(id)+"/tools/"+segment(tool)+"/accept", inOrg(orgID),
		map[string]string{"hash": hash, "reason": reason})
}

// MCPServerHealth reads how a server answers, and how it answered before.
func (c *Client) MCPServerHealth(ctx context.Context, orgID, id string) (MCPHealth, error) {
	return get[MCPHealth](ctx, c, mcpPath(id)+"/health", inOrg(orgID))
}

// MCPFinding is something about a server that a person should look at.
type MCPFinding struct {
	ID          string     `json:"id"`
	Severity    string     `json:"severity"` // info, low, medium, high, critical
	Status      string     `json:"status"`   // open, accepted, gone
	Place       string     `json:"place"`
	Title       string     `json:"title"`
	Evidence    string     `json:"evidence"`
	Advice      string     `json:"advice"`
	OWASP       []string   `json:"owasp"`
	SAFEMCP     []string   `json:"safeMcp"`
	Fingerprint string     `json:"fingerprint"`
	FirstSeenAt time.Time  `json:"firstSeenAt"`
	LastSeenAt  time.Time  `json:"lastSeenAt"`
	AcceptedBy  *string    `json:"acceptedBy"`
	AcceptedAt  *time.Time `json:"acceptedAt"`
	AcceptedFor string     `json:"acceptedFor"`
}

// MCPFindings are what was found about a server, the most severe first.
type MCPFindings struct {
	Verdict string       `json:"verdict"` // clean, findings
	Open    int          `json:"open"`
	Items   []MCPFinding `json:"items"`
}

// ScanMCPServer has a server scanned now.
func (c *Client) ScanMCPServer(ctx context.Context, orgID, id string) (MCPFindings, error) {
	return post[MCPFindings](ctx, c, mcpPath(id)+"/scan", inOrg(orgID), nil)
}

// MCPFindings reads what was found about a server.
func (c *Client) MCPFindings(ctx context.Context, orgID, id string) (MCPFindings, error) {
	return get[MCPFindings](ctx, c, mcpPath(id)+"/vulnerabilities", inOrg(orgID))
}

// MCPFindingsOf reads those of a status alone: open, accepted or gone; empty: all.
func (c *Client) MCPFindingsOf(ctx context.Context, orgID, id, status string) (MCPFindings, error) {
	in := inOrg(orgID)
	if status != "" {
		in.Set("status", status)
	}
	return get[MCPFindings](ctx, c, mcpPath(id)+"/vulnerabilities", in)
}

// AcceptMCPFinding accepts a finding with a reason.
func (c *Client) AcceptMCPFinding(ctx context.Context, orgID, id, fingerprint, reason string) (MCPFinding, error) {
	return post[MCPFinding](ctx, c, mcpPath(id)+"/vulnerabilities/"+segment(fingerprint)+"/accept", inOrg(orgID),
		map[string]string{"reason": reason})
}

// MCPTelemetry is what was called of a server.
type MCPTelemetry struct {
	Days  int                `json:"days"`
	Tools []MCPToolTelemetry `json:"tools"`
}

// MCPToolTelemetry is what was called of a tool: decisions, and how calls went as far as traces tell.
type MCPToolTelemetry struct {
	Tool    string             `json:"tool"`
	Calls   int64              `json:"calls"`
	Denials int64              `json:"denials"`
	Holds   int64              `json:"holds"`
	Asks    int64              `json:"asks"`
	Spans   int64              `json:"spans"`
	Errors  int64              `json:"errors"`
	P50Ms   *float64           `json:"p50Ms"`
	P95Ms   *float64           `json:"p95Ms"`
	Hours   []MCPHourTelemetry `json:"hours"`
}

// MCPHourTelemetry is what was decided about a tool in an hour.
type MCPHourTelemetry struct {
	At      time.Time `json:"at"`
	Calls   int64     `json:"calls"`
	Denials int64     `json:"denials"`
	Holds   int64     `json:"holds"`
}

// MCPTelemetry reads how often the tools of a server were called, refused and failed in some days; 0: a week.
func (c *Client) MCPTelemetry(ctx context.Context, orgID, id string, days int) (MCPTelemetry, error) {
	in := inOrg(orgID)
	if days != 0 {
		in.Set("days", strconv.Itoa(days))
	}
	return get[MCPTelemetry](ctx, c, mcpPath(id)+"/telemetry", in)
}

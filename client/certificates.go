package client

import (
	"context"
	"time"
)

// Certificate is a certificate of an agent or an MCP server.
type Certificate struct {
	CertificateID string     `json:"certificateId"`
	Serial        string     `json:"serial"`
	Kind          string     `json:"kind"` // agent, server
	AgentID       string     `json:"agentId,omitempty"`
	MCPID         string     `json:"mcpId,omitempty"`
	SPIFFEID      string     `json:"spiffeId"`
	Status        string     `json:"status"` // good, revoked, expired, not_yet_valid, untrusted
	Fingerprint   string     `json:"fingerprint"`
	Certificate   string     `json:"certificate"` // PEM
	AuthorityID   string     `json:"authorityId"`
	IssuedBy      string     `json:"issuedBy"`
	KeyID         *string    `json:"keyId"`
	Replaces      *string    `json:"replaces"`
	CreatedAt     time.Time  `json:"createdAt"`
	NotBefore     time.Time  `json:"notBefore"`
	ExpiresAt     time.Time  `json:"expiresAt"`
	RevokedAt     *time.Time `json:"revokedAt"`
	RevokedBy     *string    `json:"revokedBy"`
	Cause         string     `json:"cause,omitempty"`
	Reason        string     `json:"reason,omitempty"`
	Statement     *Statement `json:"statement,omitempty"` // of a server
}

// Statement binds a server's certificate to the tools that a person has accepted.
type Statement struct {
	Statement   string     `json:"statement"` // a JWT
	Definitions string     `json:"definitions"`
	Holds       bool       `json:"holds"`
	EndedAt     *time.Time `json:"endedAt"`
}

// NewCertificate describes a certificate to be issued: for an agent or for an MCP server.
type NewCertificate struct {
	AgentID       string `json:"agentId,omitempty"`
	MCPID         string `json:"mcpId,omitempty"`
	CertificateID string `json:"certificateId,omitempty"` // that it replaces
	Keep          bool   `json:"keep,omitempty"`          // the certificate before is not revoked
	CSR           string `json:"csr,omitempty"`           // PEM; empty: a key is made
	Algorithm     string `json:"algorithm,omitempty"`     // of the key that is made: p256, ed25519
	LifeSeconds   int64  `json:"lifeSeconds,omitempty"`
}

// IssuedCertificate is a new certificate. PrivateKey is set if no request was sent, and never shown again.
type IssuedCertificate struct {
	Certificate
	Authority  string `json:"authority"` // PEM
	PrivateKey string `json:"privateKey,omitempty"`
}

// CertificateQuestion names a certificate by one of its members.
type CertificateQuestion struct {
	Certificate   string `json:"certificate,omitempty"` // PEM
	CertificateID string `json:"certificateId,omitempty"`
	Serial        string `json:"serial,omitempty"`
}

// CheckedCertificate is what a certificate is worth.
type CheckedCertificate struct {
	Status      string       `json:"status"`
	ThisUpdate  time.Time    `json:"thisUpdate"`
	NextUpdate  time.Time    `json:"nextUpdate"`
	Certificate *Certificate `json:"certificate,omitempty"`
	Definitions string       `json:"definitions,omitempty"`
	Problem     string       `json:"problem,omitempty"`
}

// CertificateAuthority is one of an organization's authorities.
type CertificateAuthority struct {
	AuthorityID  string     `json:"authorityId"`
	Algorithm    string     `json:"algorithm"`
	Certificate  string     `json:"certificate"` // PEM
	Fingerprint  string     `json:"fingerprint"`
	Signs        bool       `json:"signs"`
	CreatedAt    time.Time  `json:"createdAt"`
	ExpiresAt    time.Time  `json:"expiresAt"`
	TrustedUntil *time.Time `json:"trustedUntil"`
	ListURL      string     `json:"listUrl"`
}

// IssueCertificate issues a certificate. With a key, orgID is empty and a request is needed.
func (c *Client) IssueCertificate(ctx context.Context, orgID string, n NewCertificate) (IssuedCertificate, error) {
	return post[IssuedCertificate](ctx, c, "/certificate/issue", inOrg(orgID), n)
}

// IssueServerCertificate issues a certificate for an MCP server.
func (c *Client) IssueServerCertificate(
	ctx context.Context, orgID string, n NewCertificate,
) (IssuedCertificate, error) {
	return post[IssuedCertificate](ctx, c, "/mcp/certificates", inOrg(orgID), n)
}

// RotateCertificate issues a certificate in place of another one.
func (c *Client) RotateCertificate(ctx context.Context, orgID string, n NewCertificate) (IssuedCertificate, error) {
	return post[IssuedCertificate](ctx, c, "/certificate/rotate", inOrg(orgID), n)
}

// RevokeCertificate revokes a certificate; an empty cause is unspecified.
func (c *Client) RevokeCertificate(ctx context.Context, orgID, id, cause, reason string) (Certificate, error) {
	body := map[string]any{"certificateId": id, "reason": reason}
	if cause != "" {
		body["cause"] = cause
	}
	return post[Certificate](ctx, c, "/certificate/revoke", inOrg(orgID), body)
}

// CheckCertificate says what a certificate is worth now.
func (c *Client) CheckCertificate(
	ctx context.Context, orgID string, q CertificateQuestion,
) (CheckedCertificate, error) {
	return post[CheckedCertificate](ctx, c, "/certificate/check", inOrg(orgID), q)
}

// CertificateFilter narrows a list of certificates. Empty members narrow nothing.
type CertificateFilter struct {
	Kind, AgentID string
	Valid         bool // neither revoked nor expired
}

// Certificates lists certificates of an organization, newest first.
func (c *Client) Certificates(
	ctx context.Context, orgID string, f CertificateFilter, list List,
) (Page[Certificate], error) {
	valid := ""
	if f.Valid {
		valid = "true"
	}
	return get[Page[Certificate]](ctx, c, "/certificate",
		list.with("organizationId", orgID, "kind", f.Kind, "agentId", f.AgentID, "valid", valid))
}

// ServerCertificates lists certificates of MCP servers, newest first; an empty mcpID: of all.
func (c *Client) ServerCertificates(ctx context.Context, orgID, mcpID string, list List) (Page[Certificate], error) {
	return get[Page[Certificate]](ctx, c, "/mcp/certificates", list.with("organizationId", orgID, "mcpId", mcpID))
}

// OneCertificate reads a certificate.
func (c *Client) OneCertificate(ctx context.Context, orgID, id string) (Certificate, error) {
	return get[Certificate](ctx, c, "/certificate/"+segment(id), inOrg(orgID))
}

// CertificateAuthorities lists the authorities that are trusted now, the one that signs first.
func (c *Client) CertificateAuthorities(ctx context.Context, orgID string) ([]CertificateAuthority, error) {
	found, err := get[struct {
		Items []CertificateAuthority `json:"items"`
	}](ctx, c, "/certificate/authority", inOrg(orgID))
	return found.Items, err
}

// RotateCertificateAuthority makes a new authority. An empty algorithm is that of before; a nil overlap is the longest.
func (c *Client) RotateCertificateAuthority(
	ctx context.Context, orgID, algorithm string, overlapSeconds *int64,
) (CertificateAuthority, error) {
	body := map[string]any{}
	if algorithm != "" {
		body["algorithm"] = algorithm
	}
	if overlapSeconds != nil {
		body["overlapSeconds"] = *overlapSeconds
	}
	return post[CertificateAuthority](ctx, c, "/certificate/authority/rotate", inOrg(orgID), body)
}

// Package certificates serves the certificates of agents and MCP servers, and the authorities that sign them.
package certificates

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"writ/internal/api/route"
	"writ/internal/certificate"
	"writ/internal/certificate/authority"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Handlers serve certificates.
type Handlers struct {
	Certificates *certificate.Service
	PublicURL    *url.URL
	Now          func() time.Time
}

// agentsOwn admits people who manage agents, and keys, which the area keeps to their own agent.
func agentsOwn(rt route.Route) route.Route {
	return rt.For(route.PersonOrKey).Needs(principal.ManageAgents).Scoped(principal.Enforce).
		Throttled(throttle.IssueCertificate).Records("certificate.issued").Configures()
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("certificates")
	route.Handle(r, agentsOwn(route.Post("/certificate/issue",
		"Issue a certificate for an agent or an MCP server; an API key gets one for its own agent, with a request")).
		AsksAgain().Answers(http.StatusCreated), h.issue)
	route.Handle(r, agentsOwn(route.Post("/certificate/rotate",
		"Issue a certificate in place of another one, which is revoked")).Answers(http.StatusCreated), h.rotate)
	route.Handle(r, route.Post("/certificate/revoke", "Revoke a certificate: the next request with it is refused").
		For(route.Person).Needs(principal.ManageAgents).Records("certificate.revoked").Configures(), h.revoke)
	route.Handle(r, route.Post("/certificate/check", "What a certificate is worth now").
		For(route.PersonOrKey).Needs(principal.ReadOrganization).Scoped(principal.Enforce).Unrecorded().
		Configures(), h.check)
	route.Handle(r, route.Get("/certificate", "Certificates of the organization, newest first").
		For(route.Person).Needs(principal.ReadOrganization), h.list)
	route.Handle(r, route.Get("/certificate/{certificateId}", "One certificate").
		For(route.Person).Needs(principal.ReadOrganization), h.get)
	route.Handle(r, route.Get("/mcp/certificates", "Certificates of MCP servers, newest first").
		For(route.Person).Needs(principal.ReadOrganization), h.listServers)
	route.Handle(r, route.Post("/mcp/certificates",
		"Issue a certificate for an MCP server, bound to its pinned tools").
		For(route.Person).Needs(principal.ManageServers).Throttled(throttle.IssueCertificate).
		Records("certificate.issued").Configures().AsksAgain().Answers(http.StatusCreated), h.issueServer)
	h.mountAuthorities(r)
}

// CertificateBody is a certificate.
type CertificateBody struct {
	CertificateID string             `json:"certificateId" format:"uuid"`
	Serial        string             `json:"serial" doc:"Hexadecimal."`
	Kind          authority.Kind     `json:"kind" enum:"agent,server"`
	AgentID       string             `json:"agentId,omitempty" doc:"Of an agent's certificate."`
	MCPID         string             `json:"mcpId,omitempty" doc:"Of an MCP server's certificate."`
	SPIFFEID      string             `json:"spiffeId" doc:"The only name that it proves: the URI among its alternative names."`
	Status        certificate.Status `json:"status" enum:"good,revoked,expired,not_yet_valid,untrusted" doc:"untrusted: its authority was replaced, and the overlap has ended."`
	Fingerprint   string             `json:"fingerprint" doc:"SHA-256 of the certificate, in hexadecimal."`
	Certificate   string             `json:"certificate" doc:"PEM."`
	AuthorityID   string             `json:"authorityId" format:"uuid"`
	IssuedBy      string             `json:"issuedBy" doc:"The person, or the owner of the API key."`
	KeyID         *string            `json:"keyId" doc:"The API key that asked for it. Null: a person did."`
	Replaces      *string            `json:"replaces" doc:"The certificate before."`
	CreatedAt     time.Time          `json:"createdAt"`
	NotBefore     time.Time          `json:"notBefore" doc:"Some minutes earlier, for clocks that are behind."`
	ExpiresAt     time.Time          `json:"expiresAt"`
	RevokedAt     *time.Time         `json:"revokedAt"`
	RevokedBy     *string            `json:"revokedBy"`
	Cause         string             `json:"cause,omitempty" doc:"Of the revocation, as the revocation list says it."`
	Reason        string             `json:"reason,omitempty" doc:"Of the revocation."`
	Statement     *StatementBody     `json:"statement,omitempty" doc:"Of an MCP server's certificate."`
}

// StatementBody binds a server's certificate to the tools that a person has accepted.
type StatementBody struct {
	Statement   string     `json:"statement" doc:"A JWT of the type mcp-definitions+jwt, signed with the key of the authority."`
	Definitions string     `json:"definitions" doc:"The hash of the pinned tools when it was signed."`
	Holds       bool       `json:"holds" doc:"Whether the tools are those still. It does not become true again."`
	EndedAt     *time.Time `json:"endedAt" doc:"When a definition changed."`
}

func (h *Handlers) body(c certificate.Certificate) CertificateBody {
	now := h.Now()
	body := CertificateBody{
		CertificateID: c.ID,
		Serial:        c.Serial,
		Kind:          c.Kind,
		SPIFFEID:      c.SPIFFEID,
		Status:        c.StatusAt(now),
		Fingerprint:   c.Fingerprint,
		Certificate:   c.PEM(),
		AuthorityID:   c.AuthorityID,
		IssuedBy:      c.IssuedBy,
		KeyID:         route.OrNull(c.KeyID),
		Replaces:      route.OrNull(c.Replaces),
		CreatedAt:     c.CreatedAt,
		NotBefore:     c.BeginsAt,
		ExpiresAt:     c.ExpiresAt,
		RevokedAt:     c.RevokedAt,
		RevokedBy:     route.OrNull(c.RevokedBy),
		Cause:         string(c.Cause),
		Reason:        c.Reason,
	}
	if c.Kind == authority.Agent {
		body.AgentID = c.Subject
		return body
	}
	body.MCPID = c.Subject
	body.Statement = &StatementBody{
		Statement: c.Statement, Definitions: c.Definitions, Holds: c.StatementStands(now), EndedAt: c.StatementEndedAt,
	}
	return body
}

// IssuedCertificateBody is a new certificate.
type IssuedCertificateBody struct {
	CertificateBody
	Authority  string `json:"authority" doc:"The certificate of the authority, in PEM."`
	PrivateKey string `json:"privateKey,omitempty" doc:"The key that was made, in PEM. It is stored nowhere, and never shown again. Absent: the request was yours."`
}

// Wanted is what a new certificate has of its caller.
type Wanted struct {
	CSR         string `json:"csr,omitempty" maxLength:"16384" doc:"A certificate request (PKCS #10) in PEM, without other names than the one it is for. Absent: a key is made and sent back once; an API key must send one."`
	Algorithm   string `json:"algorithm,omitempty" enum:"p256,ed25519" doc:"Of the key that is made: p256 unless given."`
	LifeSeconds int64  `json:"lifeSeconds,omitempty" minimum:"300" maximum:"604800" doc:"86400 unless given."`
}

func (w Wanted) order() certificate.Order {
	return certificate.Order{Request: w.CSR, Make: w.Algorithm, Life: time.Duration(w.LifeSeconds) * time.Second}
}

type issueCertificateInput struct {
	route.OrganizationQuery
	Body struct {
		AgentID string `json:"agentId,omitempty" maxLength:"200" doc:"A registered agent. Either this or mcpId."`
		MCPID   string `json:"mcpId,omitempty" maxLength:"200" doc:"The id or name of an approved MCP server."`
		Wanted
	}
}

func (h *Handlers) issue(
	ctx context.Context, caller principal.Principal, in *issueCertificateInput,
) (IssuedCertificateBody, error) {
	if caller.OrgID == "" {
		return IssuedCertificateBody{}, route.NoOrganization()
	}
	b := &in.Body
	if (b.AgentID == "") == (b.MCPID == "") {
		return IssuedCertificateBody{}, fault.Field("agentId", "must be given, or else mcpId: one of them")
	}
	order := b.order()
	order.Kind, order.Subject = authority.Agent, b.AgentID
	if b.MCPID != "" {
		order.Kind, order.Subject = authority.Server, b.MCPID
	}
	return h.issued(h.Certificates.Issue(ctx, caller, order))
}

func (h *Handlers) issued(made certificate.Issued, err error) (IssuedCertificateBody, error) {
	if err != nil {
		return IssuedCertificateBody{}, err
	}
	return IssuedCertificateBody{h.body(made.Certificate), made.Authority.PEM(), made.PrivateKey.Reveal()}, nil
}

type issueServerInput struct {
	route.OrganizationQuery
	Body struct {
		MCPID string `json:"mcpId" minLength:"1" maxLength:"200" doc:"The id or name of an approved MCP server."`
		Wanted
	}
}

func (h *Handlers) issueServer(
	ctx context.Context, caller principal.Principal, in *issueServerInput,
) (IssuedCertificateBody, error) {
	order := in.Body.order()
	order.Kind, order.Subject = authority.Server, in.Body.MCPID
	return h.issued(h.Certificates.Issue(ctx, caller, order))
}

type rotateInput struct {
	route.OrganizationQuery
	Body struct {
		CertificateID string `json:"certificateId" maxLength:"100"`
		Keep          bool   `json:"keep,omitempty" doc:"Whether the certificate before stays valid until it expires."`
		Wanted
	}
}

func (h *Handlers) rotate(
	ctx context.Context, caller principal.Principal, in *rotateInput,
) (IssuedCertificateBody, error) {
	if caller.OrgID == "" {
		return IssuedCertificateBody{}, route.NoOrganization()
	}
	order := in.Body.order()
	order.Keep = in.Body.Keep
	return h.issued(h.Certificates.Rotate(ctx, caller, in.Body.CertificateID, order))
}

type revokeCertificateInput struct {
	route.OrganizationQuery
	Body struct {
		CertificateID string `json:"certificateId" maxLength:"100"`
		Cause         string `json:"cause,omitempty" enum:"unspecified,key_compromise,superseded,cessation_of_operation,privilege_withdrawn" doc:"As the revocation list says it: unspecified unless given. With key_compromise every certificate of the key is revoked, and none is issued for it any more."`
		Reason        string `json:"reason" minLength:"1" maxLength:"500"`
	}
}

func (h *Handlers) revoke(
	ctx context.Context, caller principal.Principal, in *revokeCertificateInput,
) (CertificateBody, error) {
	b := &in.Body
	c, err := h.Certificates.Revoke(ctx, caller, b.CertificateID, authority.Cause(b.Cause), b.Reason)
	if err != nil {
		return CertificateBody{}, err
	}
	return h.body(c), nil
}

type listInput struct {
	route.OrganizationQuery
	route.PageInput
	Kind  string `query:"kind" enum:"agent,server" doc:"Absent: both."`
	Agent string `query:"agentId" maxLength:"200" doc:"Of one agent."`
	Valid bool   `query:"valid" doc:"Only those that are neither revoked nor expired."`
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listInput,
) (page.Page[CertificateBody], error) {
	f := certificate.Filter{Kind: authority.Kind(in.Kind), Live: in.Valid}
	if in.Agent != "" {
		if in.Kind == string(authority.Server) {
			return page.Page[CertificateBody]{}, fault.Field("agentId", "must be absent with kind=server")
		}
		f.Kind, f.Subject = authority.Agent, in.Agent
	}
	found, err := h.Certificates.List(ctx, caller, f, in.Cursor, in.Limit)
	return route.MapPage(found, h.body), err
}

type listServersInput struct {
	route.OrganizationQuery
	route.PageInput
	MCPID string `query:"mcpId" maxLength:"200" doc:"Of one MCP server, by its id."`
	Valid bool   `query:"valid" doc:"Only those that are neither revoked nor expired."`
}

func (h *Handlers) listServers(
	ctx context.Context, caller principal.Principal, in *listServersInput,
) (page.Page[CertificateBody], error) {
	f := certificate.Filter{Kind: authority.Server, Subject: in.MCPID, Live: in.Valid}
	found, err := h.Certificates.List(ctx, caller, f, in.Cursor, in.Limit)
	return route.MapPage(found, h.body), err
}

type certificateInput struct {
	route.OrganizationQuery
	ID string `path:"certificateId" doc:"Its id."`
}

func (h *Handlers) get(
	ctx context.Context, caller principal.Principal, in *certificateInput,
) (CertificateBody, error) {
	c, err := h.Certificates.Get(ctx, caller, in.ID)
	if err != nil {
		return CertificateBody{}, err
	}
	return h.body(c), nil
}

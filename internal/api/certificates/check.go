package certificates

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/certificate"
	"writ/internal/certificate/authority"
	"writ/internal/principal"
	"writ/internal/throttle"
)

type checkInput struct {
	route.OrganizationQuery
	Body struct {
		Certificate   string `json:"certificate,omitempty" maxLength:"16384" doc:"PEM. Either this, certificateId or serial."`
		CertificateID string `json:"certificateId,omitempty" maxLength:"100"`
		Serial        string `json:"serial,omitempty" maxLength:"100" doc:"Hexadecimal, with or without colons."`
	}
}

// CheckedCertificateBody is what a certificate is worth.
type CheckedCertificateBody struct {
	Status     certificate.Status `json:"status" enum:"good,revoked,expired,not_yet_valid,untrusted,unknown" doc:"Only good is worth anything. unknown: no authority of the organization has signed it."`
	ThisUpdate time.Time          `json:"thisUpdate" doc:"When the answer was true."`
	NextUpdate time.Time          `json:"nextUpdate" doc:"Until when it may be kept."`

	Certificate *CertificateBody `json:"certificate,omitempty" doc:"Absent where it is unknown."`
	// The hash of the server's tools is shown beside that of the statement.
	Definitions string `json:"definitions,omitempty" doc:"Of an MCP server: the hash of its pinned tools now."`
	Problem     string `json:"problem,omitempty" doc:"Of an MCP server: why nothing can be said of its tools now."`
}

func (h *Handlers) check(
	ctx context.Context, caller principal.Principal, in *checkInput,
) (CheckedCertificateBody, error) {
	if caller.OrgID == "" {
		return CheckedCertificateBody{}, route.NoOrganization()
	}
	b := &in.Body
	checked, err := h.Certificates.Check(ctx, caller, certificate.Question{
		ID: b.CertificateID, Serial: b.Serial, PEM: b.Certificate,
	})
	if err != nil {
		return CheckedCertificateBody{}, err
	}
	answer := CheckedCertificateBody{Status: checked.Status, ThisUpdate: checked.At, NextUpdate: checked.Next}
	if checked.Certificate == nil {
		return answer, nil
	}
	body := h.body(*checked.Certificate)
	if body.Statement != nil {
		body.Statement.Holds = checked.StatementStands()
	}
	answer.Certificate = &body
	if checked.Server != nil {
		answer.Definitions, answer.Problem = checked.Server.Definitions, checked.Server.Problem
	}
	return answer, nil
}

func (h *Handlers) mountAuthorities(r *route.Router) {
	route.Handle(r, route.Get("/certificate/authority",
		"The authorities whose certificates are trusted now, the one that signs first").
		For(route.PersonOrKey).Needs(principal.ReadOrganization).Scoped(principal.Enforce), h.authorities)
	route.Handle(r, route.Post("/certificate/authority/rotate",
		"Make a new authority; what the one before has signed counts until the overlap ends").
		For(route.Person).Needs(principal.UpdateOrganization).Throttled(throttle.IssueCertificate).
		Records("certificate.authority_created").Configures().AsksAgain().
		Answers(http.StatusCreated), h.rotateAuthority)
	h.fetched(r, route.Get("/certificate/crl/{authorityId}", "The revocation list of an authority (RFC 5280, DER)"),
		"application/pkix-crl", h.Certificates.RevocationList)
	h.fetched(r, route.Get("/certificate/ca/{authorityId}", "The certificate of an authority (DER)"),
		"application/pkix-cert", h.Certificates.AuthorityCertificate)
}

// fetched mounts a file that whoever checks certificates fetches, because they say where it is.
func (h *Handlers) fetched(
	r *route.Router, rt route.Route, media string, read func(ctx context.Context, id string) ([]byte, error),
) {
	rt = rt.For(route.Public).Throttled(throttle.FetchRevocations).
		CountedBy(func(request *http.Request) string { return request.PathValue("authorityId") })
	r.Serve(rt, func(w http.ResponseWriter, request *http.Request, _ principal.Principal) error {
		der, err := read(request.Context(), request.PathValue("authorityId"))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", "no-cache")
		_, err = w.Write(der)
		return err
	})
	id := &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	file := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	r.Document(rt, huma.Operation{
		Parameters: []*huma.Param{{Name: "authorityId", In: "path", Required: true, Schema: id}},
		Responses: map[string]*huma.Response{"200": {
			Description: http.StatusText(http.StatusOK),
			Content:     map[string]*huma.MediaType{media: {Schema: file}},
		}},
	}, http.StatusNotFound, http.StatusServiceUnavailable)
}

// AuthorityBody is a certificate authority of the organization.
type AuthorityBody struct {
	AuthorityID  string              `json:"authorityId" format:"uuid"`
	Algorithm    authority.Algorithm `json:"algorithm" enum:"p256,ed25519"`
	Certificate  string              `json:"certificate" doc:"PEM."`
	Fingerprint  string              `json:"fingerprint" doc:"SHA-256 of the certificate, in hexadecimal."`
	Signs        bool                `json:"signs" doc:"Whether it is the one that signs now."`
	CreatedAt    time.Time           `json:"createdAt"`
	ExpiresAt    time.Time           `json:"expiresAt"`
	TrustedUntil *time.Time          `json:"trustedUntil" doc:"Of one that was replaced: what it has signed counts until then."`
	ListURL      string              `json:"listUrl" doc:"Where its revocation list is."`
}

func (h *Handlers) authorityBody(a certificate.Authority) AuthorityBody {
	return AuthorityBody{
		AuthorityID:  a.ID,
		Algorithm:    a.Algorithm,
		Certificate:  a.PEM(),
		Fingerprint:  authority.Fingerprint(a.DER),
		Signs:        a.RetiredAt == nil,
		CreatedAt:    a.CreatedAt,
		ExpiresAt:    a.ExpiresAt,
		TrustedUntil: a.TrustedUntil,
		ListURL:      h.PublicURL.String() + "/certificate/crl/" + a.ID,
	}
}

func (h *Handlers) authorities(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (route.Items[AuthorityBody], error) {
	if caller.OrgID == "" {
		return route.Items[AuthorityBody]{}, route.NoOrganization()
	}
	found, err := h.Certificates.Authorities(ctx, caller)
	return route.ItemsOf(found, h.authorityBody), err
}

type rotateAuthorityInput struct {
	route.OrganizationQuery
	Body struct {
		Algorithm      string `json:"algorithm,omitempty" enum:"p256,ed25519" doc:"As before unless given, or p256."`
		OverlapSeconds *int64 `json:"overlapSeconds,omitempty" minimum:"0" maximum:"604800" doc:"How long what the authority before has signed still counts: 604800 unless given, which is as long as any certificate lives. 0 ends it at once, with what earlier ones have signed, for a key that others have."`
	}
}

func (h *Handlers) rotateAuthority(
	ctx context.Context, caller principal.Principal, in *rotateAuthorityInput,
) (AuthorityBody, error) {
	r := certificate.Rotation{Algorithm: authority.Algorithm(in.Body.Algorithm), Overlap: certificate.MaxLife}
	if seconds := in.Body.OverlapSeconds; seconds != nil {
		r.Overlap = time.Duration(*seconds) * time.Second
	}
	made, err := h.Certificates.RotateAuthority(ctx, caller, r)
	if err != nil {
		return AuthorityBody{}, err
	}
	return h.authorityBody(made), nil
}

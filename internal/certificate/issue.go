package certificate

import (
	"context"
	"crypto"
	"time"

	"writ/internal/audit"
	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// What the audit log says of certificates.
const (
	issued          = "certificate.issued"
	revokedAction   = "certificate.revoked"
	certificateType = "certificate"
)

// Order is a certificate that a caller wants.
type Order struct {
	Kind    authority.Kind
	Subject string        // the id of an agent, or the id or name of an MCP server
	Request string        // a certificate request in PEM; empty: a key is made
	Make    string        // without a request: the algorithm of the key that is made; empty: P-256
	Life    time.Duration // 0: DefaultLife
	Keep    bool          // of a rotation: the certificate before is not revoked
}

// Issued is a new certificate.
type Issued struct {
	Certificate
	Authority Authority
	// PrivateKey is the key that was made for it, in PEM. It is stored nowhere, and shown this once. Empty: the caller
	// has it.
	PrivateKey secret.Text
}

// checked is the order with its defaults, for a caller who may make it.
func (o Order) checked(p principal.Principal) (Order, error) {
	switch {
	case !o.Kind.Valid():
		return o, fault.Field("kind", "must be agent or server")
	case p.Kind == principal.Key && (o.Kind != authority.Agent || p.OrgID == ""):
		return o, fault.New(fault.Forbidden, "an API key gets certificates for its own agent only")
	case p.Kind == principal.Key && o.Request == "":
		return o, fault.Field("csr", "is required of an API key: make the private key where it is used")
	case o.Request != "" && o.Make != "":
		return o, fault.Field("algorithm", "is only for a key that is made here: leave it out, or leave out csr")
	case o.Make != "" && !authority.Algorithm(o.Make).Valid():
		return o, fault.Field("algorithm", "must be p256 or ed25519")
	}
	if p.Kind != principal.Key {
		if err := requirePerson(p, manages(o.Kind)); err != nil {
			return o, err
		}
	}
	if o.Make == "" {
		o.Make = string(authority.P256)
	}
	if o.Life == 0 {
		o.Life = DefaultLife
	}
	if o.Life < MinLife || o.Life > MaxLife {
		return o, fault.Field("lifeSeconds", "must be from %d to %d", MinLife/time.Second, MaxLife/time.Second)
	}
	return o, nil
}

// subjectOf is the agent or server that an order is for, as the registries know it.
func (s *Service) subjectOf(
	ctx context.Context, r database.Reader, p principal.Principal, o *Order,
) (Server, error) {
	if o.Kind == authority.Agent {
		return Server{ID: o.Subject}, s.Sources.Agent(ctx, r, p.OrgID, o.Subject, p.KeyID)
	}
	found, err := s.Sources.Server(ctx, r, p.OrgID, o.Subject)
	if err == nil && found.Problem != "" {
		err = fault.New(fault.Conflict, "no statement can be made about the server's tools: %s", found.Problem)
	}
	return found, err
}

// Issue signs a certificate for an agent or server of the caller's organization.
func (s *Service) Issue(ctx context.Context, p principal.Principal, o Order) (Issued, error) {
	return s.issue(ctx, p, o, nil)
}

// Rotate signs a certificate in place of another one, which is revoked unless the order keeps it.
func (s *Service) Rotate(ctx context.Context, p principal.Principal, id string, o Order) (Issued, error) {
	if err := requireReader(p); err != nil {
		return Issued{}, err
	}
	before, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Issued{}, err
	}
	o.Kind, o.Subject = before.Kind, before.Subject
	return s.issue(ctx, p, o, &before)
}

// replaceable refuses a certificate that was revoked: another one in its place would undo that without a word.
func (c *Certificate) replaceable() error {
	if c == nil || c.RevokedAt == nil {
		return nil
	}
	return fault.New(fault.Conflict, "the certificate is revoked and cannot be replaced: issue a new one (writ cert issue)")
}

func (s *Service) issue(ctx context.Context, p principal.Principal, o Order, before *Certificate) (Issued, error) {
	o, err := o.checked(p)
	if err != nil {
		return Issued{}, err
	}
	subject, err := s.subjectOf(ctx, s.db, p, &o)
	if err == nil {
		err = before.replaceable()
	}
	if err != nil {
		return Issued{}, err
	}
	o.Subject = subject.ID
	name := authority.Name{OrgID: p.OrgID, Kind: o.Kind, ID: o.Subject}
	var made Issued
	public, err := s.keyFor(o, name, &made)
	if err != nil {
		return Issued{}, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		// What was read before may have changed meanwhile.
		if subject, err = s.subjectOf(ctx, tx, p, &o); err != nil {
			return err
		}
		a, signer, err := s.signer(ctx, tx, p)
		if err != nil {
			return err
		}
		made.Authority = *a
		made.Certificate, err = s.sign(p, o, name, public, a, signer, tx.Now())
		if err != nil {
			return err
		}
		made.Definitions = subject.Definitions
		return s.store(ctx, tx, p, &made.Certificate, signer, before, o.Keep)
	})
	if err != nil {
		return Issued{}, err
	}
	return made, nil
}

// keyFor is the public key of an order: that of its request, or of a key that is made for it.
func (s *Service) keyFor(o Order, name authority.Name, made *Issued) (crypto.PublicKey, error) {
	if o.Request != "" {
		public, err := authority.ReadRequest(o.Request, name)
		if err != nil {
			return nil, fault.Field("csr", "%s", err)
		}
		return public, nil
	}
	key, err := authority.NewKey(authority.Algorithm(o.Make))
	if err != nil {
		return nil, err
	}
	der, err := authority.MarshalKey(key)
	if err != nil {
		return nil, err
	}
	made.PrivateKey = secret.NewText(authority.PEM(authority.KeyBlock, der))
	return key.Public(), nil
}

// sign makes the certificate. What a key asks for does not outlive the key.
func (s *Service) sign(
	p principal.Principal, o Order, name authority.Name, public crypto.PublicKey, a *Authority,
	signer *authority.Authority, now time.Time,
) (Certificate, error) {
	expires := now.Add(o.Life)
	if p.ExpiresAt != nil && p.ExpiresAt.Before(expires) {
		expires = *p.ExpiresAt
	}
	signed, err := signer.Issue(authority.Order{
		Name: name, Public: public, Now: now, Expires: expires,
		ListURL: s.PublicURL + "/certificate/crl/" + a.ID,
		CAURL:   s.PublicURL + "/certificate/ca/" + a.ID,
	})
	if err != nil {
		return Certificate{}, err
	}
	hash, err := authority.KeyHash(public)
	return Certificate{
		ID:             database.NewID(),
		OrgID:          p.OrgID,
		AuthorityID:    a.ID,
		Serial:         authority.Serial(signed.SerialNumber),
		Kind:           o.Kind,
		Subject:        o.Subject,
		SPIFFEID:       name.SPIFFE(),
		DER:            signed.Raw,
		Fingerprint:    authority.Fingerprint(signed.Raw),
		IssuedBy:       p.UserID,
		KeyID:          p.KeyID,
		CreatedAt:      now,
		BeginsAt:       signed.NotBefore,
		ExpiresAt:      signed.NotAfter,
		keyHash:        hash,
		authorityUntil: a.Until(),
	}, err
}

// store stores and records a new certificate, and revokes the one that it replaces.
func (s *Service) store(
	ctx context.Context, tx *database.Tx, p principal.Principal, c *Certificate, signer *authority.Authority,
	before *Certificate, keep bool,
) error {
	if err := s.checkUse(ctx, tx, c, before != nil && !keep); err != nil {
		return err
	}
	if before != nil {
		// It may have been revoked meanwhile.
		again, err := find(ctx, tx, p.OrgID, before.ID)
		if err == nil {
			err = again.replaceable()
		}
		if err != nil {
			return err
		}
		before, c.Replaces = &again, before.ID
	}
	if c.Kind == authority.Server {
		var err error
		c.Statement, err = signer.State(authority.Statement{
			SPIFFEID: c.SPIFFEID, Serial: c.Serial, Fingerprint: c.Fingerprint, Definitions: c.Definitions,
			Issued: tx.Now(), Expires: c.ExpiresAt,
		})
		if err != nil {
			return err
		}
	}
	if err := insertCertificate(ctx, tx, c); err != nil {
		return err
	}
	// A new certificate takes nothing away, so that no decision has to be judged again.
	if err := s.record(ctx, tx, p, issued, c, c.payload(), true); err != nil || before == nil || keep {
		return err
	}
	return s.revoke(ctx, tx, p, before, authority.Superseded, "replaced by certificate "+c.ID)
}

// checkUse refuses a key that others use, and more certificates than anybody can look after.
func (s *Service) checkUse(ctx context.Context, tx *database.Tx, c *Certificate, replaces bool) error {
	uses, err := keyUses(ctx, tx, c)
	if err != nil {
		return err
	}
	if uses > 0 {
		return fault.Field("csr", "has a key that is in a certificate of somebody else, or that was revoked because others "+
			"have it: make a new one")
	}
	live, err := liveOf(ctx, tx, c.OrgID, c.Kind, c.Subject, tx.Now())
	if err != nil {
		return err
	}
	most := MaxLive
	if replaces {
		most++
	}
	if len(live) >= most {
		return fault.New(fault.Conflict, "%d certificates of the %s are valid: revoke some, or wait until they expire",
			len(live), c.Kind)
	}
	recent, err := countRecent(ctx, tx, c, tx.Now())
	if err == nil && recent >= maxRecent {
		err = fault.New(fault.Conflict, "%d certificates of the %s have not expired yet, with those that were revoked: "+
			"replace them less often", recent, c.Kind)
	}
	return err
}

// payload is what entries say of the certificate.
func (c *Certificate) payload() map[string]any {
	payload := map[string]any{
		"kind": string(c.Kind), "subject": c.Subject, "serial": c.Serial, "spiffeId": c.SPIFFEID,
		"fingerprint": c.Fingerprint, "authority": c.AuthorityID, "expiresAt": c.ExpiresAt,
	}
	if c.Replaces != "" {
		payload["replaces"] = c.Replaces
	}
	if c.Definitions != "" {
		payload["definitions"] = c.Definitions
	}
	return payload
}

// record appends to the organization's log what is said about a certificate.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, by principal.Principal, action string, c *Certificate, payload map[string]any,
	observes bool,
) error {
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(c.OrgID),
		Action:      action,
		Actor:       by,
		Subject:     audit.Subject{Type: certificateType, ID: c.ID},
		Payload:     payload,
		Observation: observes,
	})
	return err
}

package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"writ/internal/certificate/authority"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Revoke revokes a certificate: the next request with it is refused. If others have its private key, the certificates
// of the same key are revoked with it; that may be found out of one that was revoked before.
func (s *Service) Revoke(
	ctx context.Context, p principal.Principal, id string, cause authority.Cause, reason string,
) (Certificate, error) {
	if err := requirePerson(p, principal.ReadOrganization); err != nil {
		return Certificate{}, err
	}
	if cause == "" {
		cause = authority.Unspecified
	}
	if !cause.Valid() {
		return Certificate{}, fault.Field("cause", "must be unspecified, key_compromise, superseded, "+
			"cessation_of_operation or privilege_withdrawn")
	}
	reason, err := checkReason(reason)
	if err != nil {
		return Certificate{}, err
	}
	var c Certificate
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		if c, err = find(ctx, tx, p.OrgID, id); err != nil {
			return err
		}
		if err := p.Require(manages(c.Kind)); err != nil {
			return err
		}
		if c.RevokedAt != nil && (cause != authority.KeyCompromise || c.Cause == cause) {
			return fault.New(fault.Conflict, "the certificate is revoked already")
		}
		if err := s.revoke(ctx, tx, p, &c, cause, reason); err != nil || cause != authority.KeyCompromise {
			return err
		}
		return s.revokeKey(ctx, tx, p, &c)
	})
	return c, err
}

// revokeKey revokes what else counts of the key of a revoked certificate, for the same cause.
func (s *Service) revokeKey(ctx context.Context, tx *database.Tx, by principal.Principal, lost *Certificate) error {
	live, err := liveOf(ctx, tx, lost.OrgID, lost.Kind, lost.Subject, tx.Now())
	for i := range live {
		if err == nil && live[i].keyHash == lost.keyHash {
			err = s.revoke(ctx, tx, by, &live[i], lost.Cause, lost.Reason)
		}
	}
	return err
}

func (s *Service) revoke(
	ctx context.Context, tx *database.Tx, by principal.Principal, c *Certificate, cause authority.Cause, reason string,
) error {
	if c.RevokedAt == nil {
		now := tx.Now()
		c.RevokedAt = &now
	}
	c.RevokedBy, c.Cause, c.Reason = by.UserID, cause, reason
	if err := markRevoked(ctx, tx, c); err != nil {
		return err
	}
	payload := c.payload()
	payload["cause"], payload["reason"] = string(cause), reason
	return s.record(ctx, tx, by, revokedAction, c, payload, false)
}

// ServerGone revokes the certificates of an MCP server that was removed or denied, within that change.
func (s *Service) ServerGone(
	ctx context.Context, tx *database.Tx, by principal.Principal, orgID, serverID, why string,
) error {
	live, err := liveOf(ctx, tx, orgID, authority.Server, serverID, tx.Now())
	if err != nil {
		return err
	}
	for i := range live {
		if err := s.revoke(ctx, tx, by, &live[i], authority.Cessation, why); err != nil {
			return err
		}
	}
	return nil
}

// DefinitionsChanged ends the statements about an MCP server that do not hold any more, within the change of its tools.
// They do not come back with the tools: somebody has seen others meanwhile.
func (s *Service) DefinitionsChanged(
	ctx context.Context, tx *database.Tx, _ principal.Principal, orgID, serverID string,
) error {
	now, err := s.Sources.Server(ctx, tx, orgID, serverID)
	if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) {
		return err
	}
	holds := now.Definitions
	if err != nil || now.Problem != "" {
		holds = "none"
	}
	_, err = tx.Exec(ctx, `
		UPDATE certificate SET statement_ended_at = $4
		WHERE org_id = $1 AND kind = 'server' AND subject = $2 AND statement_ended_at IS NULL AND definitions <> $3`,
		orgID, serverID, holds, database.Micros(tx.Now()))
	return database.Wrap(err, "end the statements about an MCP server")
}

// Attested is an agent that has proven who it is with a certificate.
type Attested struct {
	OrgID, AgentID string
	CertificateID  string
	ExpiresAt      time.Time // when the certificate stops to count, unless it is revoked before
}

// Authenticate finds the agent of a certificate whose private key the caller has proven to have. Only certificates
// that are stored here count: whoever presents one gains nothing by what else it says.
func (s *Service) Authenticate(ctx context.Context, presented *x509.Certificate) (Attested, error) {
	c, err := findPrint(ctx, s.db.Prepared(), authority.Fingerprint(presented.Raw))
	if fault.Is(err, fault.NotFound) {
		return Attested{}, fault.New(fault.Unauthenticated, "the certificate was not issued by this server")
	}
	if err != nil {
		return Attested{}, err
	}
	switch status := c.StatusAt(s.db.Now()); {
	case !bytes.Equal(c.DER, presented.Raw):
		return Attested{}, fault.New(fault.Unauthenticated, "the certificate was not issued by this server")
	case status != Good:
		return Attested{}, fault.New(fault.Unauthenticated, "the certificate is %s: get another one", status.words())
	case c.Kind != authority.Agent:
		return Attested{}, fault.New(fault.Unauthenticated, "the certificate is an MCP server's, and only agents call")
	}
	return c.attested(), nil
}

// VerifySignature is Authenticate with a check that the authority signed the certificate, for the beginning of a
// connection: it costs more, and what is stored does not change afterwards.
func (s *Service) VerifySignature(ctx context.Context, presented *x509.Certificate) error {
	if _, err := s.Authenticate(ctx, presented); err != nil {
		return err
	}
	c, err := findPrint(ctx, s.db, authority.Fingerprint(presented.Raw))
	if err != nil {
		return err
	}
	a, err := findAuthority(ctx, s.db, c.AuthorityID)
	if err != nil {
		return err
	}
	root, err := x509.ParseCertificate(a.DER)
	if err != nil {
		return err
	}
	if err := (&authority.Authority{Certificate: root}).Check(presented, s.db.Now()); err != nil {
		return fault.Wrap(err, fault.Unauthenticated, "the certificate was not issued by this server")
	}
	return nil
}

// StandsFor reports until when a certificate proves that its holder is an agent; false: it does not.
func (s *Service) StandsFor(ctx context.Context, orgID, certificateID, agentID string) (time.Time, bool, error) {
	c, err := find(ctx, s.db.Prepared(), orgID, certificateID)
	if fault.Is(err, fault.NotFound) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	a := c.attested()
	return a.ExpiresAt, c.Kind == authority.Agent && c.Subject == agentID && c.StatusAt(s.db.Now()) == Good, nil
}

func (c *Certificate) attested() Attested {
	until := c.ExpiresAt
	if c.authorityUntil.Before(until) {
		until = c.authorityUntil
	}
	return Attested{OrgID: c.OrgID, AgentID: c.Subject, CertificateID: c.ID, ExpiresAt: until}
}

func (s Status) words() string { return strings.ReplaceAll(string(s), "_", " ") }

// Question names a certificate by one of these.
type Question struct{ ID, Serial, PEM string }

// Checked is what is known of a certificate.
type Checked struct {
	Status      Status
	Certificate *Certificate // nil: of Unknown
	Server      *Server      // of a server's certificate, as its tools are now; nil: it is gone
	At          time.Time
	Next        time.Time // until when the answer may be kept
}

// Check says what a certificate is worth now. Those of other organizations are unknown.
func (s *Service) Check(ctx context.Context, p principal.Principal, q Question) (Checked, error) {
	if err := requireReader(p); err != nil {
		return Checked{}, err
	}
	now := s.db.Now()
	checked := Checked{Status: Unknown, At: now, Next: now.Add(authority.ListLife)}
	c, err := s.asked(ctx, p.OrgID, q)
	if fault.Is(err, fault.NotFound) {
		return checked, nil
	}
	if err != nil {
		return Checked{}, err
	}
	checked.Certificate, checked.Status = &c, c.StatusAt(now)
	if until := c.attested().ExpiresAt; checked.Status == Good && until.Before(checked.Next) {
		checked.Next = until
	}
	if c.Kind != authority.Server {
		return checked, nil
	}
	server, err := s.Sources.Server(ctx, s.db, p.OrgID, c.Subject)
	switch {
	case err == nil:
		checked.Server = &server
	case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict):
		return Checked{}, err
	}
	return checked, nil
}

// StatementStands reports whether the statement of a server's certificate holds now. It asks for the tools too: a
// change that nobody reported here must not leave a statement standing.
func (c *Checked) StatementStands() bool {
	return c.Certificate != nil && c.Certificate.StatementStands(c.At) && c.Server != nil && c.Server.Problem == "" &&
		c.Server.Definitions == c.Certificate.Definitions
}

// asked finds the certificate of a question.
func (s *Service) asked(ctx context.Context, orgID string, q Question) (Certificate, error) {
	given := 0
	for _, text := range []string{q.ID, q.Serial, q.PEM} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return Certificate{}, fault.Field("certificate", "must be given, or else certificateId or serial: one of them")
	case q.ID != "":
		return find(ctx, s.db, orgID, q.ID)
	case q.Serial != "":
		return findSerial(ctx, s.db, orgID, normalSerial(q.Serial))
	}
	block, rest := pem.Decode([]byte(q.PEM))
	if block == nil || block.Type != authority.CertificateBlock || len(bytes.TrimSpace(rest)) > 0 {
		return Certificate{}, fault.Field("certificate", "must be one certificate in PEM: -----BEGIN CERTIFICATE-----")
	}
	c, err := findPrint(ctx, s.db, authority.Fingerprint(block.Bytes))
	if err == nil && c.OrgID != orgID {
		return Certificate{}, noSuchCertificate()
	}
	return c, err
}

// normalSerial is a serial number as it is stored: openssl writes it in upper case, others with colons.
func normalSerial(text string) string {
	text = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
	if len(text) > 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return "-" // no certificate has it
	}
	return strings.Repeat("0", max(0, 32-len(text))) + text
}

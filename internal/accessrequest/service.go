package accessrequest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Options are what a Service needs.
type Options struct {
	Database  *database.DB
	Log       *audit.Log
	Mail      mail.Sender
	Logger    *slog.Logger
	PublicURL string
	// Require refuses a caller who is not an operator, as the reader sees it.
	Require func(ctx context.Context, r database.Reader, p principal.Principal) error
	// Addresses are those of the operators.
	Addresses func(ctx context.Context) ([]string, error)
}

// Service keeps requests for access.
type Service struct{ Options }

// NewService makes a Service.
func NewService(o Options) *Service {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	return &Service{o}
}

// Ask stores a request, unless it is one that is known already: the caller cannot tell.
func (s *Service) Ask(ctx context.Context, n New) error {
	n, err := n.clean()
	if err != nil {
		return err
	}
	request := Request{ID: database.NewID(), New: n, Status: Pending}
	isNew, isFirst := false, false
	err = s.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		isNew, isFirst = false, false
		waiting, lately, err := countPending(ctx, tx, tx.Now().Add(-noticePause))
		if err != nil {
			return err
		}
		if waiting >= maxPending { // said to everybody, so that it tells nothing
			return tooMany()
		}
		if known, err := isKnown(ctx, tx, n.Email, tx.Now().Add(-sameFor)); err != nil || known {
			return err
		}
		isNew, isFirst, request.CreatedAt = true, lately == 0, tx.Now()
		if err := insert(ctx, tx, request); err != nil {
			return err
		}
		nobody := principal.Principal{}
		return s.record(ctx, tx, nobody, "access.requested", request.ID, map[string]any{"email": n.Email})
	}})
	if err != nil || !isNew {
		return err
	}
	s.send(ctx, receiptMail(n.Email))
	if isFirst {
		s.tellOperators(ctx)
	}
	return nil
}

func tooMany() error {
	refusal := fault.New(fault.TooMany, "too many requests wait for an answer; ask again later")
	refusal.RetryAfter = time.Hour
	return refusal
}

// tellOperators mails the operators that somebody waits. It names nobody: anyone can have it sent.
func (s *Service) tellOperators(ctx context.Context) {
	addresses, err := s.Addresses(ctx)
	if err != nil {
		s.Logger.WarnContext(ctx, "operators are not told of a request for access", "error", err)
	}
	for _, address := range addresses[:min(len(addresses), maxAddressees)] {
		s.send(ctx, noticeMail(address, s.PublicURL))
	}
}

// send mails what the list of requests shows as well: that it cannot be sent is no reason to forget the request.
func (s *Service) send(ctx context.Context, m mail.Message) {
	if err := s.Mail.Send(context.WithoutCancel(ctx), m); err != nil {
		s.Logger.WarnContext(ctx, "a mail about a request for access was not sent", "error", err)
	}
}

// List is the requests, oldest first; an empty status means all.
func (s *Service) List(
	ctx context.Context, p principal.Principal, status Status, cursor string, limit int,
) (page.Page[Request], error) {
	if err := s.Require(ctx, s.Database, p); err != nil {
		return page.Page[Request]{}, err
	}
	if status != "" && !status.Valid() {
		return page.Page[Request]{}, fault.Field("status", "must be pending, approved or rejected")
	}
	q := page.Query{List: "access.requests", Scope: string(status), Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Request, error) {
		return listAfter(ctx, s.Database, status, after, limit)
	}, func(r Request) (time.Time, string) { return r.CreatedAt, r.ID })
}

// Waiting is a request that can be answered.
func (s *Service) Waiting(ctx context.Context, p principal.Principal, id string) (Request, error) {
	if err := s.Require(ctx, s.Database, p); err != nil {
		return Request{}, err
	}
	request, err := find(ctx, s.Database, id)
	if err != nil {
		return Request{}, err
	}
	return request, answer{}.check(request)
}

// Invited notes that a request became an invitation, which the caller has made and mailed.
func (s *Service) Invited(ctx context.Context, p principal.Principal, id string, to Invitation) (Request, error) {
	return s.decide(ctx, p, id, "access.approved", answer{status: Approved, invitation: to})
}

// Approve lets the address of a request register, with a link that is mailed. Approving once more mails another link in
// place of the first: mails get lost, and links expire.
func (s *Service) Approve(ctx context.Context, p principal.Principal, id string) (Request, error) {
	if err := mail.Require(ctx, s.Mail); err != nil {
		return Request{}, err
	}
	token := secret.Token("acc_")
	decided, err := s.decide(ctx, p, id, "access.approved",
		answer{status: Approved, tokenHash: secret.Hash(token.Reveal())})
	if err != nil {
		return Request{}, err
	}
	if err := s.Mail.Send(context.WithoutCancel(ctx), approvalMail(decided, s.PublicURL, token)); err != nil {
		return Request{}, fmt.Errorf("mail the link of request for access %s: %w", id, err)
	}
	return decided, nil
}

// Reject refuses a request, with a reason that is mailed.
func (s *Service) Reject(ctx context.Context, p principal.Principal, id, reason string) (Request, error) {
	reason, err := cleanReason(reason)
	if err != nil {
		return Request{}, err
	}
	decided, err := s.decide(ctx, p, id, "access.rejected", answer{status: Rejected, reason: reason})
	if err == nil {
		s.send(ctx, rejectionMail(decided))
	}
	return decided, err
}

// decide answers a request that waits, once, if the caller still is an operator.
func (s *Service) decide(
	ctx context.Context, p principal.Principal, id, action string, a answer,
) (decided Request, err error) {
	err = s.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := s.Require(ctx, tx, p); err != nil {
			return err
		}
		request, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := a.check(request); err != nil {
			return err
		}
		now := tx.Now()
		request.Status, request.DecidedAt, request.DecidedBy, request.Reason = a.status, &now, p.UserID, a.reason
		request.OrgID, request.Role = a.invitation.OrgID, a.invitation.Role
		if err := update(ctx, tx, request, a.tokenHash, now.Add(linkLifetime)); err != nil {
			return err
		}
		decided = request
		payload := map[string]any{"email": request.Email}
		if request.OrgID != "" {
			payload["organizationId"], payload["role"] = request.OrgID, string(request.Role)
		}
		if request.Reason != "" {
			payload["reason"] = request.Reason
		}
		return s.record(ctx, tx, p, action, id, payload)
	}})
	return decided, err
}

// MayRegister is the address that the token of an approval lets register. The token works until it expires, however
// often it is used: a mailed code proves the address anyway.
func (s *Service) MayRegister(ctx context.Context, token string) (string, error) {
	return findAddress(ctx, s.Database, secret.Hash(token), s.Database.Now())
}

func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, action, id string, payload map[string]any,
) error {
	_, err := s.Log.Append(ctx, tx, audit.Entry{
		Log:     audit.System,
		Action:  action,
		Actor:   actor,
		Subject: audit.Subject{Type: "access_request", ID: id},
		Payload: payload,
	})
	return err
}

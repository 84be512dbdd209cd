package approval

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/arguments"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/toolname"
)

// Asked is what a client says when it asks for approval itself, most often of a call that
// was just held.
type Asked struct {
	Tool      string
	Domain    string // what the client calls the server
	Server    string // of the tool, where the client calls none and the tool's name says it
	Arguments []byte // a JSON object; nil: not stated, and then only a question without arguments finds the approval
	Amount    *float64
	Email     string // of the person the agent works for
	UserID    string
	AgentID   string
	SessionID string
	PlanID    string
	Reason    string

	// Admit is called before a new request is opened, and not for a repeated one: a
	// throttle must not hit clients that poll. Nil admits.
	Admit func(ctx context.Context) error
}

// Ask finds the request that applies to what a client asks, or opens one, and reports
// which.
func (s *Service) Ask(ctx context.Context, p principal.Principal, a Asked) (r Request, opened bool, err error) {
	if !p.HasScope(principal.RequestDelegation) || p.OrgID == "" {
		return Request{}, false, fault.New(fault.Forbidden,
			"an API key of an organization with the scope %s is needed to ask for approval", principal.RequestDelegation)
	}
	asked, err := s.readAsked(ctx, p, a)
	if err != nil {
		return Request{}, false, err
	}
	known, err := s.findAsked(ctx, s.db, asked, s.db.Now())
	if err != nil {
		return Request{}, false, err
	}
	if known == nil && a.Admit != nil {
		if err := a.Admit(ctx); err != nil {
			return Request{}, false, err
		}
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		r, opened, err = s.findOrOpen(ctx, tx, p, asked)
		return err
	})
	if err != nil {
		return Request{}, false, err
	}
	return r, opened, nil
}

// findOrOpen is Ask in its transaction.
func (s *Service) findOrOpen(
	ctx context.Context, tx *database.Tx, p principal.Principal, asked Request,
) (Request, bool, error) {
	if err := s.refuseStopped(ctx, tx, asked); err != nil {
		return Request{}, false, err
	}
	known, err := s.findAsked(ctx, tx, asked, tx.Now())
	if err != nil {
		return Request{}, false, err
	}
	if known != nil {
		if err := Repeat(ctx, tx, known); err != nil {
			return Request{}, false, err
		}
		return *known, false, fillIn(ctx, tx, known, asked)
	}
	r, err := s.open(ctx, tx, asked, Requirement{Kind: Hold, Reason: "a client asks for approval"})
	if err != nil {
		return Request{}, false, err
	}
	entry, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(p.OrgID),
		Action:      "approval.requested",
		Actor:       p,
		Subject:     audit.Subject{Type: "approval", ID: r.ID},
		Observation: true,
		Payload:     recorded{Tool: r.Server + "." + r.Tool, Kind: r.Kind, Needed: r.Needed},
	})
	if err != nil {
		return Request{}, false, err
	}
	return *r, true, Opened(ctx, tx, r, entry)
}

// readAsked checks what the client says and makes a request of it.
func (s *Service) readAsked(ctx context.Context, p principal.Principal, a Asked) (Request, error) {
	r := Request{Via: ViaRequest, Amount: a.Amount}
	for _, field := range [...]struct {
		name     string
		from, to *string
	}{
		{"tool", &a.Tool, &r.Tool}, {"domain", &a.Domain, &r.Domain}, {"requesterEmail", &a.Email, &r.Email},
		{"userId", &a.UserID, &r.UserID},
		{"agentId", &a.AgentID, &r.AgentID}, {"sessionId", &a.SessionID, &r.SessionID},
		{"planId", &a.PlanID, &r.PlanID},
	} {
		text := strings.TrimSpace(*field.from)
		if !names.Valid(text) {
			return Request{}, fault.Field(field.name, "must be at most %d bytes without control characters",
				names.MaxBytes)
		}
		if redaction.HoldsKey(text) {
			return Request{}, fault.Field(field.name, "looks like a key: send a name, because it is stored unredacted")
		}
		if text != plan.NotStated {
			*field.to = text
		}
	}
	if r.Tool == "" {
		return Request{}, fault.Field("tool", "must name a tool")
	}
	if len(a.Reason) > maxNote || !utf8.ValidString(a.Reason) || strings.ContainsRune(a.Reason, 0) {
		return Request{}, fault.Field("reason", "must be at most %d bytes of text", maxNote)
	}
	if a.Amount == nil {
		r.Amount = new(float64) // as clients without an amount ask for it later
	} else if math.IsNaN(*a.Amount) || math.IsInf(*a.Amount, 0) {
		return Request{}, fault.Field("amount", "must be a number")
	}
	r.AskedFor = redaction.Text(a.Reason)
	r.OrgID, r.KeyID, r.OwnerID, r.Step = p.OrgID, p.KeyID, p.UserID, -1
	r.Server, r.Tool = toolname.Resolve(r.Tool, cmp.Or(r.Domain, a.Server), "")
	r.Email = strings.ToLower(r.Email)
	return r, s.readAskedArguments(ctx, a.Arguments, &r)
}

func (s *Service) readAskedArguments(ctx context.Context, raw []byte, r *Request) error {
	if raw == nil {
		r.Digest, r.ArgumentsFrom = []byte{}, fromNowhere
		return nil
	}
	args, err := arguments.Read(raw)
	if err != nil {
		return fault.Field("arguments", "%s", err)
	}
	r.Arguments, r.Canonical = string(args.Shown), args.Canonical.Text()
	r.Digest, err = s.digest(ctx, r.OrgID, r.Canonical)
	return err
}

// findAsked is the request that applies to what is asked, or nil. Where several servers
// have the tool, the server of the domain goes first.
func (s *Service) findAsked(
	ctx context.Context, reader database.Reader, asked Request, now time.Time,
) (*Request, error) {
	requests, err := selectAsked(ctx, reader, asked, now)
	if err != nil {
		return nil, err
	}
	if err := s.withdraw(ctx, reader, requests); err != nil {
		return nil, err
	}
	requests = slices.DeleteFunc(requests, func(r Request) bool { return r.Withdrawn })
	of := requests[:0:0]
	for _, r := range requests {
		if r.Server == asked.Server {
			of = append(of, r)
		}
	}
	if found := decisive(of, now); found != nil || len(asked.Digest) == 0 {
		return found, nil
	}
	return decisive(requests, now), nil
}

// fillIn adds what only the client knows to a request that a decision opened.
func fillIn(ctx context.Context, tx *database.Tx, r *Request, asked Request) error {
	if r.Amount != nil || r.Status != Pending || r.scopeText != "" {
		return nil // its approvers have seen it as it is
	}
	r.Amount, r.Domain, r.AskedFor = asked.Amount, asked.Domain, asked.AskedFor
	if r.Email == "" {
		r.Email = asked.Email
	}
	_, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET amount = $3, domain = $4, asked_for = $5, email = $6
		WHERE org_id = $1 AND id = $2`, r.OrgID, r.ID, *r.Amount, r.Domain, r.AskedFor, r.Email)
	return database.Wrap(err, "complete request %s", r.ID)
}

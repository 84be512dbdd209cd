package carrier

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"

	"writ/internal/enforcement"
	"writ/internal/fault"
	registry "writ/internal/mcp"
	"writ/internal/mcp/upstream"
	"writ/internal/secret"
)

type judgedKey struct{}

// judged is a call that is being sent. Its credentials are asked for once, however often it is sent.
type judged struct {
	reach      registry.Reach
	decisionID string
	quiet      bool

	mu     sync.Mutex
	asked  bool
	header http.Header
	spent  string // the hash of the person's token, if the server has refused it
}

// withJudged is the context in which an allowed call is sent.
func withJudged(ctx context.Context, reach registry.Reach, a *enforcement.Answer) (context.Context, *judged) {
	j := &judged{reach: reach, decisionID: a.DecisionID}
	j.quiet = !a.Oblige.IsZero() && (len(a.Oblige.Redact) > 0 || a.Oblige.MaxBytes > 0)
	return context.WithValue(ctx, judgedKey{}, j), j
}

func (j *judged) spentToken() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.spent
}

func (j *judged) spend(token secret.Text) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spent = hex.EncodeToString(secret.Hash(token.Reveal()))
}

// apart reports whether this is a proxy in a process of its own, which has no tokens of people.
func (c *Carrier) apart() bool { return c.UserToken == nil }

// IsForOneCall reports whether the session with a server must be used for the call alone that is being sent: it is open
// with the token of a person, which a proxy apart gets for one call, because the person may take it back.
func (c *Carrier) IsForOneCall(ctx context.Context) bool {
	reach, ok := Judged(ctx)
	return ok && reach.ByConsent && c.apart()
}

// forOneCall has a server called with the token that a proxy apart is given for the call that is being sent.
func (c *Carrier) forOneCall(ctx context.Context, by Caller, reach registry.Reach, to *upstream.Target) error {
	header, err := c.credentials(ctx, by, reach)
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	j, judged := ctx.Value(judgedKey{}).(*judged)
	if !ok || !judged {
		return fault.New(fault.Unavailable, "the Writ server did not give the token of the person")
	}
	token := secret.NewText(text)
	to.Token = func(context.Context) (secret.Text, error) { return token, nil }
	to.Spent = func(_ context.Context, token secret.Text) { j.spend(token) }
	return nil
}

// Judged is the registration by which the call was judged that is being sent; false: none is. Nothing is sent by
// another, which nobody has judged.
func Judged(ctx context.Context) (registry.Reach, bool) {
	if j, ok := ctx.Value(judgedKey{}).(*judged); ok {
		return j.reach, true
	}
	return registry.Reach{}, false
}

// DecisionOf is the decision that allows the call that is being sent; empty: none is.
func DecisionOf(ctx context.Context) string {
	if j, ok := ctx.Value(judgedKey{}).(*judged); ok {
		return j.decisionID
	}
	return ""
}

// IsQuiet reports whether nothing that the server says beside its result may reach the client while the call runs that
// is being sent: a policy has members of the result left out, or bounds it.
func IsQuiet(ctx context.Context) bool {
	j, ok := ctx.Value(judgedKey{}).(*judged)
	return ok && j.quiet
}

// credentials are those of the server, for the decision that allows what is being sent, if any.
func (c *Carrier) credentials(ctx context.Context, by Caller, reach registry.Reach) (http.Header, error) {
	j, ok := ctx.Value(judgedKey{}).(*judged)
	if !ok {
		return c.Servers.Credentials(ctx, by.Principal, reach, "")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked {
		return j.header.Clone(), nil
	}
	header, err := c.Servers.Credentials(ctx, by.Principal, reach, j.decisionID)
	if err == nil {
		j.asked, j.header = true, header
	}
	return header.Clone(), err
}

// ErrUndecided: a proxy of its own process has the credentials of a server only for what was allowed.
var ErrUndecided = errors.New("credentials are given for allowed calls alone")

// IsUndecided reports whether a server was not reached because nothing was decided.
func IsUndecided(err error) bool { return errors.Is(err, ErrUndecided) }

func isSame(a, b registry.Reach) bool { return a.ID == b.ID && a.UpdatedAt.Equal(b.UpdatedAt) }

// Changed is the failure of a call that was not sent because its server is registered otherwise than when it was
// judged.
func Changed(server string) *upstream.Failure {
	return &upstream.Failure{
		Kind: upstream.Refused, Server: server, Reason: "its registration has just changed: make the call again",
	}
}

package enforcement

import (
	"context"
	"strings"
	"time"

	"writ/internal/arguments"
	"writ/internal/database"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/toolname"
)

// Limits of what is stored about a call.
const (
	maxLabels = 32
	maxPaths  = 100
)

// call is a request that was read. Nothing but grounded changes while it is judged.
type call struct {
	by      principal.Principal
	request Request // with names as they are stored
	id      string  // of the decision
	started time.Time

	args   arguments.Arguments
	digest []byte
	// argumentsFrom says where args are from, as decision.Details does.
	argumentsFrom string
	verifies      bool // it is about a step, and the call was not sent

	problem  string   // why the call cannot be judged; empty: it can
	grounded grounded // set while it is judged
}

// read reads a request. A call with a problem is denied, and recorded like any other.
func (s *Service) read(ctx context.Context, p principal.Principal, r Request) *call {
	c := &call{by: p, request: r, id: database.NewID(), started: time.Now()}
	c.readNames()
	var err error
	if c.args, err = arguments.Read(r.Arguments); err != nil {
		c.fail("the arguments cannot be read: " + err.Error())
		return c
	}
	digester, err := s.plans.Digester(ctx, p.OrgID)
	if err != nil {
		s.logFailure(ctx, "make a digest of arguments", err)
		c.fail("this server could not prepare the call: try again")
		return c
	}
	digest := digester.Arguments(c.args.Canonical.Text())
	c.digest = digest[:]
	return c
}

// fail keeps the first problem.
func (c *call) fail(problem string) {
	if c.problem == "" {
		c.problem = problem
	}
}

// readNames normalizes and checks the names. A name that cannot be stored, looks like another, or holds a key is a
// problem, because records with names cannot be erased.
func (c *call) readNames() {
	r := &c.request
	if r.Carried != nil && (hasEdges(r.Server) || hasEdges(r.Tool)) {
		c.fail("the name of the tool or its server begins or ends with a space, and would pass for another: no such tool " +
			"is called")
	}
	for _, field := range [...]struct {
		name string
		text *string
	}{
		{"server", &r.Server}, {"tool", &r.Tool}, {"called tool", &r.CalledAs},
		{"agent", &r.AgentID}, {"user", &r.UserID},
		{"user's e-mail", &r.UserEmail},
		{"session", &r.SessionID}, {"context", &r.ContextID}, {"source", &r.Source}, {"environment", &r.Environment},
	} {
		text := stated(strings.TrimSpace(*field.text))
		if !names.Valid(text) {
			c.fail("the name of the " + field.name + " must be at most 200 bytes without control characters")
			text = names.Clean(redaction.Text(text)) // cut last: redaction does not recognize half a secret
		}
		if redaction.HoldsKey(text) {
			c.fail("the name of the " + field.name +
				" holds what looks like a key: send a name, which is stored as it is")
			text = redaction.Text(text)
		}
		*field.text = text
	}
	c.attested()
	if r.Tool == "" {
		c.fail("the call names no tool")
	}
	if toolname.TooManyReadings(r.Tool) || toolname.TooManyReadings(r.CalledAs) {
		c.fail("the name of the tool can be read in too many ways: use fewer underscores")
	}
	r.readEmail()
	if c.by.Environment != "" {
		r.Environment = c.by.Environment // whatever the request says
	}
	if len(r.Labels) > maxLabels || len(r.ResolvedPaths) > maxPaths {
		c.fail("the call has too many labels or resolved paths")
		r.Labels, r.ResolvedPaths = nil, nil
	}
	for _, label := range r.Labels {
		if !names.Valid(label) || redaction.HoldsKey(label) {
			c.fail("a label must be at most 200 bytes without control characters, and no key")
			r.Labels = nil
		}
	}
}

// hasEdges reports whether a name has spaces at an end, which are taken off before it is judged. A server that lists
// such a tool would have it called under the name, and with the approval, of another.
func hasEdges(name string) bool { return strings.TrimSpace(name) != name }

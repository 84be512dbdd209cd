package enforcement

import (
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/canonical"
	"writ/internal/policy/engine"
	"writ/internal/redaction"
)

// recorded is what the log says of a decision beside who, what and the verdict.
// It is the payload, which can be erased; arguments stand here and nowhere else.
// Members are in the order of canonical JSON.
type recorded struct {
	Allow       string           `json:"allow,omitzero"` // a wider yes that was used
	Approval    string           `json:"approval,omitzero"`
	Arguments   jsontext.Value   `json:"arguments,omitzero"` // redacted, canonical
	Digest      string           `json:"argumentsDigest,omitzero"`
	Context     string           `json:"context,omitzero"`
	Environment string           `json:"environment,omitzero"`
	Failed      []engine.Failure `json:"failed,omitempty"`
	Incomplete  bool             `json:"incomplete,omitzero"` // arguments lack something
	Labels      []string         `json:"labels,omitempty"`
	Policy      string           `json:"policy"`
	Version     int              `json:"policyVersion,omitzero"`
	Reason      string           `json:"reason"`
	Paths       jsontext.Value   `json:"resolvedPaths,omitzero"` // redacted
	Rule        string           `json:"rule,omitzero"`
	Server      string           `json:"server"`
	Session     string           `json:"session,omitzero"`
	Source      string           `json:"source,omitzero"`
	Step        int              `json:"step"` // of the plan; -1: none
	User        string           `json:"user,omitzero"`
	Email       string           `json:"userEmail,omitzero"`
}

func (c *call) payload(o *outcome) (recorded, error) {
	r := &c.request
	p := recorded{
		Server: o.server, Arguments: c.shown, Digest: hex.EncodeToString(c.digest), Incomplete: c.hidden, User: r.UserID, Email: r.UserEmail,
		Session: r.SessionID, Context: r.ContextID, Source: r.Source, Environment: r.Environment, Labels: r.Labels,
		Policy: o.PolicyID, Version: o.PolicyVersion, Rule: o.Rule, Reason: o.Reason, Step: o.step, Failed: o.Failed,
	}
	p.Approval = o.approvalID()
	if o.allow != nil {
		p.Allow = o.allow.ID
	}
	if len(r.ResolvedPaths) == 0 {
		return p, nil
	}
	paths, err := json.Marshal(r.ResolvedPaths, json.Deterministic(true))
	if err == nil {
		p.Paths, err = redaction.JSON(paths)
	}
	return p, err
}

// canonical is the payload in canonical JSON. What few decisions have is encoded
// as anything else is; the rest is written here, because the detour costs a tenth
// of a decision.
func (p *recorded) canonical() (audit.Canonical, error) {
	if len(p.Failed)+len(p.Labels)+len(p.Paths) > 0 {
		return canonical.Marshal(p)
	}
	w := payloadWriter{out: make([]byte, 0, 512+len(p.Arguments))}
	w.optional("allow", p.Allow)
	w.optional("approval", p.Approval)
	if p.Arguments != nil {
		w.name("arguments")
		w.out = append(w.out, p.Arguments...)
	}
	w.optional("argumentsDigest", p.Digest)
	w.optional("context", p.Context)
	w.optional("environment", p.Environment)
	if p.Incomplete {
		w.name("incomplete")
		w.out = append(w.out, "true"...)
	}
	w.text("policy", p.Policy)
	if p.Version != 0 {
		w.number("policyVersion", p.Version)
	}
	w.text("reason", p.Reason)
	w.optional("rule", p.Rule)
	w.text("server", p.Server)
	w.optional("session", p.Session)
	w.optional("source", p.Source)
	w.number("step", p.Step)
	w.optional("user", p.User)
	w.optional("userEmail", p.Email)
	w.out = append(w.out, '}')
	return w.out, w.err
}

// payloadWriter writes a canonical object whose members come in order.
type payloadWriter struct {
	out []byte
	err error // the first
}

func (w *payloadWriter) name(name string) {
	before := byte(',')
	if len(w.out) == 0 {
		before = '{'
	}
	w.out = append(w.out, before, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

func (w *payloadWriter) text(name, value string) {
	w.name(name)
	out, err := canonical.AppendString(w.out, value)
	if err != nil {
		w.err = err
		return
	}
	w.out = out
}

func (w *payloadWriter) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *payloadWriter) number(name string, value int) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, int64(value), 10)
}

package decision

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/canonical"
)

// payload is how details stand in the log. Members are in the order of canonical
// JSON.
type payload struct {
	Allow       string         `json:"allow,omitzero"`
	Approval    string         `json:"approval,omitzero"`
	Arguments   jsontext.Value `json:"arguments,omitzero"`
	Digest      string         `json:"argumentsDigest,omitzero"` // hex
	Context     string         `json:"context,omitzero"`
	DurationUs  int64          `json:"durationUs"`
	Environment string         `json:"environment,omitzero"`
	Failed      []Failure      `json:"failed,omitempty"`
	Incomplete  bool           `json:"incomplete,omitzero"`
	Labels      []string       `json:"labels,omitempty"`
	Message     string         `json:"message,omitzero"`
	PlacedOn    string         `json:"placedOn,omitzero"`
	PolicyName  string         `json:"policyName,omitzero"`
	Reason      string         `json:"reason"`
	Paths       jsontext.Value `json:"resolvedPaths,omitzero"`
	Shadows     []Shadow       `json:"shadows,omitempty"`
	Source      string         `json:"source,omitzero"`
	User        string         `json:"user,omitzero"`
	Email       string         `json:"userEmail,omitzero"`
}

// payload is the details in canonical JSON. What few decisions have is encoded as
// anything else is; the rest is written here, because the detour costs a tenth of
// a decision.
func (d *Details) payload() (audit.Canonical, error) {
	if len(d.Failed)+len(d.Labels)+len(d.Paths)+len(d.Shadows) > 0 {
		return canonical.Marshal(payload{
			Allow: d.AllowID, Approval: d.ApprovalID, Arguments: d.Arguments, Digest: hex.EncodeToString(d.Digest), Context: d.ContextID, DurationUs: d.Duration.Microseconds(),
			Environment: d.Environment, Failed: d.Failed, Incomplete: d.Incomplete, Labels: d.Labels, Message: d.Message, PlacedOn: d.PlacedOn, PolicyName: d.PolicyName,
			Reason: d.Reason, Paths: d.Paths, Shadows: d.Shadows, Source: d.Source, User: d.UserID, Email: d.Email,
		})
	}
	w := payloadWriter{out: make([]byte, 0, 512+len(d.Arguments))}
	w.optional("allow", d.AllowID)
	w.optional("approval", d.ApprovalID)
	if d.Arguments != nil {
		w.name("arguments")
		w.out = append(w.out, d.Arguments...)
	}
	w.optional("argumentsDigest", hex.EncodeToString(d.Digest))
	w.optional("context", d.ContextID)
	w.name("durationUs")
	w.out = strconv.AppendInt(w.out, d.Duration.Microseconds(), 10)
	w.optional("environment", d.Environment)
	if d.Incomplete {
		w.name("incomplete")
		w.out = append(w.out, "true"...)
	}
	w.optional("message", d.Message)
	w.optional("placedOn", d.PlacedOn)
	w.optional("policyName", d.PolicyName)
	w.text("reason", d.Reason)
	w.optional("source", d.Source)
	w.optional("user", d.UserID)
	w.optional("userEmail", d.Email)
	w.out = append(w.out, '}')
	return w.out, w.err
}

func readDetails(text string) (Details, error) {
	var p payload
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Details{}, fmt.Errorf("read its payload: %w", err)
	}
	digest, err := hex.DecodeString(p.Digest)
	if err != nil {
		return Details{}, fmt.Errorf("read the digest of its arguments: %w", err)
	}
	return Details{
		Arguments: p.Arguments, Digest: digest, Incomplete: p.Incomplete, Paths: p.Paths, PlacedOn: p.PlacedOn, PolicyName: p.PolicyName, Reason: p.Reason, Message: p.Message,
		Failed: p.Failed, ApprovalID: p.Approval, AllowID: p.Allow, Duration: time.Duration(p.DurationUs) * time.Microsecond, UserID: p.User, Email: p.Email,
		ContextID: p.Context, Source: p.Source, Environment: p.Environment, Labels: p.Labels, Shadows: p.Shadows,
	}, nil
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

package decision

import (
	"encoding/hex"
	"fmt"
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
			Allow:       d.AllowID,
			Approval:    d.ApprovalID,
			Arguments:   d.Arguments,
			Digest:      hex.EncodeToString(d.Digest),
			Context:     d.ContextID,
			DurationUs:  d.Duration.Microseconds(),
			Environment: d.Environment,
			Failed:      d.Failed,
			Incomplete:  d.Incomplete,
			Labels:      d.Labels,
			Message:     d.Message,
			PlacedOn:    d.PlacedOn,
			PolicyName:  d.PolicyName,
			Reason:      d.Reason,
			Paths:       d.Paths,
			Shadows:     d.Shadows,
			Source:      d.Source,
			User:        d.UserID,
			Email:       d.Email,
		})
	}
	o := canonical.NewObject(payloadSize + len(d.Arguments))
	o.Optional("allow", d.AllowID)
	o.Optional("approval", d.ApprovalID)
	if d.Arguments != nil {
		o.Value("arguments", func(out []byte) []byte { return append(out, d.Arguments...) })
	}
	o.Optional("argumentsDigest", hex.EncodeToString(d.Digest))
	o.Optional("context", d.ContextID)
	o.Integer("durationUs", d.Duration.Microseconds())
	o.Optional("environment", d.Environment)
	if d.Incomplete {
		o.Bool("incomplete", true)
	}
	o.Optional("message", d.Message)
	o.Optional("placedOn", d.PlacedOn)
	o.Optional("policyName", d.PolicyName)
	o.String("reason", d.Reason)
	o.Optional("source", d.Source)
	o.Optional("user", d.UserID)
	o.Optional("userEmail", d.Email)
	return o.Bytes()
}

// payloadSize is enough for most payloads, but for the arguments.
const payloadSize = 512

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
		Arguments:   p.Arguments,
		Digest:      digest,
		Incomplete:  p.Incomplete,
		Paths:       p.Paths,
		PlacedOn:    p.PlacedOn,
		PolicyName:  p.PolicyName,
		Reason:      p.Reason,
		Message:     p.Message,
		Failed:      p.Failed,
		ApprovalID:  p.Approval,
		AllowID:     p.Allow,
		Duration:    time.Duration(p.DurationUs) * time.Microsecond,
		UserID:      p.User,
		Email:       p.Email,
		ContextID:   p.Context,
		Source:      p.Source,
		Environment: p.Environment,
		Labels:      p.Labels,
		Shadows:     p.Shadows,
	}, nil
}

package decision

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/canonical"
)

// payload is the erasable part of a record, as the log stores it.
type payload struct {
	Details
	Digest     string `json:"argumentsDigest,omitzero"` // hex
	DurationUs int64  `json:"durationUs"`
	Message    string `json:"message,omitzero"`
	PolicyName string `json:"policyName,omitzero"`
	Reason     string `json:"reason"`
}

// payload encodes the erasable part in canonical JSON. Most decisions are written member
// by member, because the generic encoder takes a tenth of a decision's time.
func (r *Record) payload() (audit.Canonical, error) {
	if len(r.Failed)+len(r.Labels)+len(r.Paths)+len(r.Shadows) > 0 || r.Judged.Session != nil ||
		r.Confine != nil || r.Demanded != nil || r.Oblige != nil {
		return canonical.Marshal(payload{
			Details:    r.Details,
			Digest:     hex.EncodeToString(r.Digest),
			DurationUs: r.Duration.Microseconds(),
			Message:    r.Message,
			PolicyName: r.PolicyName,
			Reason:     r.Reason,
		})
	}
	o := canonical.NewObject(payloadSize + len(r.Arguments))
	o.Optional("allow", r.StandingID)
	o.Optional("approval", r.ApprovalID)
	if r.Arguments != nil {
		o.Value("arguments", func(out []byte) []byte { return append(out, r.Arguments...) })
	}
	o.Optional("argumentsDigest", hex.EncodeToString(r.Digest))
	o.Optional("argumentsFrom", r.ArgumentsFrom)
	o.Optional("calledAs", r.CalledAs)
	o.Optional("context", r.ContextID)
	o.Integer("durationUs", r.Duration.Microseconds())
	o.Optional("environment", r.Environment)
	if r.Incomplete {
		o.Bool("incomplete", true)
	}
	r.Judged.write(o)
	o.Optional("message", r.Message)
	o.Optional("placedOn", r.PlacedOn)
	o.Optional("policyName", r.PolicyName)
	o.String("reason", r.Reason)
	o.Optional("source", r.Source)
	o.Optional("spelledAs", r.SpelledAs)
	o.Optional("user", r.UserID)
	o.Optional("userEmail", r.Email)
	return o.Bytes()
}

// write writes the member judged, where there is anything to tell but a session.
func (j *Judged) write(o *canonical.Object) {
	if *j == (Judged{}) {
		return
	}
	o.Begin("judged")
	j.writeAgent(o)
	if j.CanConfine {
		o.Bool("canConfine", true)
	}
	o.Optional("email", j.Email)
	o.Optional("organization", j.Organization)
	o.Optional("owner", j.OwnerID)
	o.Optional("ownerRole", j.OwnerRole)
	o.Optional("step", j.Step)
	o.Optional("user", j.UserID)
	o.Optional("userRole", j.UserRole)
	o.End()
}

// writeAgent writes what was judged of the agent.
func (j *Judged) writeAgent(o *canonical.Object) {
	if j.AgentBound {
		o.Bool("agentBound", true)
	}
	o.Optional("agentCertificate", j.AgentCertificate)
	o.Optional("agentName", j.AgentName)
	if j.AgentRegistered {
		o.Bool("agentRegistered", true)
	}
	o.Optional("agentStatus", j.AgentStatus)
}

// payloadSize is enough for most payloads without their arguments.
const payloadSize = 768

// ReasonOf is why a decision was made, by the payload of its entry; empty: the payload does not say.
func ReasonOf(payload string) string {
	var p struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal([]byte(payload), &p) != nil {
		return ""
	}
	return p.Reason
}

// readPayload decodes the erasable part.
func (r *Record) readPayload(text string) error {
	var p payload
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read its payload: %w", err)
	}
	digest, err := hex.DecodeString(p.Digest)
	if err != nil {
		return fmt.Errorf("read the digest of its arguments: %w", err)
	}
	r.Details, r.Digest, r.Duration = p.Details, digest, time.Duration(p.DurationUs)*time.Microsecond
	r.PolicyName, r.Reason, r.Message = p.PolicyName, p.Reason, p.Message
	return nil
}

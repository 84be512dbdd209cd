package enforcement

import (
	"context"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/redaction"
	"writ/internal/verdict"
)

// StepCheck is what was said about a tool of a plan of which no arguments are
// known. It is no decision about a call: nothing is claimed by it.
type StepCheck struct {
	PlanID, AgentID, Server, Tool string
	Verdict                       verdict.Verdict
	Reason                        string
	PolicyID                      string
	PolicyVersion                 int
	Rule                          string
	// Generation and Epoch are those of the log that it was judged at.
	Generation, Epoch int64
}

// RecordStep records a check in the log of the caller's organization. Without the
// record the answer must not be given. Where something changed since it was judged
// nothing is recorded, and it is not current: unless it denies, it is to be judged
// again.
func (s *Service) RecordStep(ctx context.Context, p principal.Principal, c StepCheck) (current bool, err error) {
	if p.OrgID == "" {
		return false, fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	err = s.db.Write(ctx, database.Change{Lane: database.Urgent, Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		generation, epoch, err := s.log.Stamp(ctx, tx, audit.LogOf(p.OrgID))
		if err != nil {
			return err
		}
		current = c.Verdict == verdict.Deny || stamp{c.Generation, c.Epoch}.covers(stamp{generation, epoch})
		if !current {
			return nil
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      "step.verified",
			Actor:       p,
			Subject:     audit.Subject{Type: "plan", ID: c.PlanID},
			Observation: true,
			Payload: checkedStep{
				Tool:    toldName(c.Tool),
				Server:  c.Server,
				Agent:   c.AgentID,
				Verdict: c.Verdict.String(),
				Reason:  c.Reason,
				Policy:  c.PolicyID,
				Version: c.PolicyVersion,
				Rule:    c.Rule,
			},
		})
		return err
	}})
	return current, err
}

// toldName is a name as a client sent it, short enough to be kept and without
// what looks like a secret.
func toldName(name string) string {
	const most = 200
	name = redaction.Text(name) // before it is cut: half a secret has no look
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}

// checkedStep is what the log says of a check.
type checkedStep struct {
	Tool    string `json:"tool"`
	Server  string `json:"server,omitzero"`
	Agent   string `json:"agentId,omitzero"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Policy  string `json:"policyId,omitzero"`
	Version int    `json:"policyVersion,omitzero"`
	Rule    string `json:"rule,omitzero"`
}

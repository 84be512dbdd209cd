package projection

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"writ/internal/decision"
)

// IDs are those of the trace and the span that show a decision, for other uses of it.
func IDs(d *decision.Record) (trace, span string) {
	names := namesOf(d.OrgID)
	return names.trace(originOf(d)), names.span(d)
}

// origin is what the decisions of one trace have in common: the plan and day or, without
// a plan, the agent and hour.
type origin struct {
	kind, id string
	period   int64 // days or hours since 1970, UTC
}

const (
	byPlan  = "plan"
	byAgent = "agent"
)

func originOf(d *decision.Record) origin {
	hours := d.At.Unix() / int64(time.Hour/time.Second)
	if d.PlanID != "" {
		return origin{byPlan, d.PlanID, hours / 24}
	}
	return origin{byAgent, d.AgentID, hours}
}

// names makes ids within an organization: UUIDv5 of what they name.
type names struct{ space uuid.UUID }

func namesOf(orgID string) names {
	return names{uuid.NewSHA1(uuid.NameSpaceURL, []byte("writ:organization:"+orgID))}
}

func (n names) trace(of origin) string {
	return n.derived(of.kind, of.id, strconv.FormatInt(of.period, 10))
}

func (n names) span(d *decision.Record) string { return n.derived("decision", d.ID) }

func (n names) shadow(d *decision.Record, policyID string) string {
	return n.derived("shadow", d.ID, policyID)
}

// derived is the id of some parts, which are quoted so that none runs into the next.
func (n names) derived(parts ...string) string {
	name := make([]byte, 0, 128)
	for _, part := range parts {
		quoted, err := jsontext.AppendQuote(name, part)
		if err != nil {
			quoted = strconv.AppendQuote(name, part) // not UTF-8
		}
		name = quoted
	}
	return uuid.NewSHA1(n.space, name).String()
}

package execution

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/database"
	"writ/internal/intent/scope"
	"writ/internal/toolname"
)

// Outputs is what reports tell what is known of a session.
type Outputs interface {
	// Take gives the report the oldest call that waits and is the same, and returns the id of its decision.
	Take(ctx context.Context, tx *database.Tx, r scope.Report) (decisionID string, err error)
	// Close makes the output of a decision unknown, if it still waits.
	Close(ctx context.Context, tx *database.Tx, orgID, decisionID string) error
}

// take lets the report take its decision, in the report's transaction: exactly once.
func (s *Service) take(ctx context.Context, tx *database.Tx, it *item, position int64) (decisionID string, err error) {
	if it.status == Blocked {
		return "", nil // it did not run
	}
	form, other := toolname.CalledWires(it.stated.Tool)
	return s.outputs.Take(ctx, tx, scope.Report{
		OrgID:         it.by.OrgID,
		KeyID:         it.by.KeyID,
		PlanID:        it.planID,
		Scope:         it.scope,
		Heard:         it.heard,
		Absent:        it.absent,
		Tool:          it.stated.Tool,
		WireName:      form,
		OtherWireName: other,
		Digest:        it.digest,
		Output:        it.output,
		Position:      position,
		Carried:       it.carried,
	})
}

// cutMarks are what clients put at the end of a text that they cut.
var cutMarks = []string{"[truncated]", "(truncated)", "<truncated>", "…"}

// cutLength is the length from which dots at the end mean that a client cut the text.
const cutLength = 500

// exactOutput is the output that a client reports, as the tool returned it; nil: absent, or cut.
func exactOutput(raw jsontext.Value) *string {
	if raw.Kind() == 0 || raw.Kind() == jsontext.KindNull {
		return nil
	}
	whole := string(raw)
	if raw.Kind() == jsontext.KindString {
		whole = text(raw)
	}
	end := strings.TrimRight(whole, " \n\t")
	for _, mark := range cutMarks {
		if strings.HasSuffix(end, mark) {
			return nil
		}
	}
	if len(end) >= cutLength && strings.HasSuffix(end, "...") {
		return nil
	}
	return &whole
}

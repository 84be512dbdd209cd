package intent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/intent/trust"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// Widening is what is done about a re-anchored plan that permits more than before.
type Widening string

// What is done.
const (
	HoldWidening   Widening = "hold" // what was added waits for a person
	AllowWidening  Widening = "allow"
	RefuseWidening Widening = "refuse"
)

// Valid reports whether this is one of them.
func (w Widening) Valid() bool { return w == HoldWidening || w == AllowWidening || w == RefuseWidening }

const (
	reanchoredAction = "plan.reanchored"
	maxAnchors       = 1000 // of a plan
)

// ReanchorRequest puts another plan in the place of one.
type ReanchorRequest struct {
	PlanID, Reference string
	Plan              []byte // JSON, in any published shape
	Reason            string
	Widening          Widening // as the organization says
}

// Reanchored is a plan in its new version.
type Reanchored struct {
	trust.Anchor
	Signed   string    // the anchor as it was signed; empty: nothing changed
	At       time.Time // of the version
	Repeated bool      // the plan was that already
}

// Reanchor makes another plan the one by which calls of a token are judged from now on. What it permits no more counts
// at once; what it permits in addition is done with as the organization says. Every version is kept, and linked to the
// one before.
func (s *Service) Reanchor(ctx context.Context, p principal.Principal, r ReanchorRequest) (Reanchored, error) {
	if err := requireAgent(p); err != nil {
		return Reanchored{}, err
	}
	id := r.PlanID
	if after, ok := strings.CutPrefix(r.Reference, referencePrefix); ok && id == "" {
		id = after
	}
	switch {
	case id == "":
		return Reanchored{}, fault.Field("planId", "must name the plan that is re-anchored")
	case len(r.Reason) > maxReason:
		return Reanchored{}, fault.Field("reason", "must be at most %d bytes", maxReason)
	}
	parsed, err := s.prepare(p, Request{Plan: r.Plan})
	if err != nil {
		return Reanchored{}, err
	}
	if parsed.plan.AutoMinted() {
		return Reanchored{}, errSelfPlanned()
	}
	key, err := s.trustKey(ctx, p.OrgID)
	if err != nil {
		return Reanchored{}, err
	}
	for range maxMintAttempts {
		done, stale, err := s.tryReanchor(ctx, p, id, r, parsed, key)
		if err != nil || !stale {
			return done, err
		}
	}
	return Reanchored{}, fault.New(fault.Unavailable, "the plan keeps changing: try again")
}

// newAnchor is a version of a plan that is not stored yet.
type newAnchor struct {
	*newPlan // what was sent
	before   *plan.Declared
	compared plan.Reanchoring
	anchor   trust.Anchor
	signed   string
}

func (s *Service) tryReanchor(
	ctx context.Context, p principal.Principal, id string, r ReanchorRequest, sent *newPlan, key trustKey,
) (done Reanchored, stale bool, err error) {
	before, err := s.reanchorable(ctx, p, id)
	if err != nil {
		return Reanchored{}, false, err
	}
	if before.Root == sent.tree.Root() {
		done, err = s.anchoredAlready(ctx, before)
		return done, false, err
	}
	n := &newAnchor{newPlan: sent, before: before, compared: before.Reanchor(sent.plan)}
	if err := n.widen(r.Widening); err != nil {
		return Reanchored{}, false, err
	}
	if err := s.signAnchor(ctx, n, key); err != nil {
		return Reanchored{}, false, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		at, err := selectState(ctx, tx, id)
		if stale = err == nil && (at.anchor != before.Anchor || at.status != before.Status); err != nil || stale {
			return err
		}
		done.At = tx.Now()
		return s.addAnchor(ctx, tx, n, r.Reason)
	}})
	done.Anchor, done.Signed = n.anchor, n.signed
	return done, stale, err
}

// reanchorable reads a live plan that the caller declared.
func (s *Service) reanchorable(ctx context.Context, p principal.Principal, id string) (*plan.Declared, error) {
	row, err := findVisible(ctx, s.db, p, id)
	if err != nil {
		return nil, err
	}
	var turn int64
	if err := s.db.QueryRow(ctx, `SELECT turn FROM plan WHERE id = $1`, id).Scan(&turn); err != nil {
		return nil, fmt.Errorf("read plan %s: %w", id, err)
	}
	d, err := s.declared(ctx, s.db, row)
	if err != nil {
		return nil, err
	}
	ended, err := s.hasEnded(ctx, s.db, d)
	switch {
	case err != nil:
		return nil, err
	case row.ParentID != "":
		return nil, fault.New(fault.Conflict, "this plan came from another one: re-anchor that, or delegate again")
	case turn > 0:
		return nil, fault.New(fault.Conflict,
			"this is the plan of a turn of a guarded session: register the whole plan again, and say what it amends")
	case ended || d.Status != plan.Active || !s.db.Now().Before(d.Expires):
		return nil, fault.New(fault.Conflict, "the plan has ended: declare a new one")
	case d.Anchor >= maxAnchors:
		return nil, fault.New(fault.Conflict, "the plan was re-anchored %d times: declare a new one", maxAnchors)
	}
	return d, nil
}

// widen does with what was added as the organization says.
func (n *newAnchor) widen(as Widening) error {
	added := len(n.compared.Widened)+len(n.compared.WidenedMay) > 0
	switch {
	case !added:
	case as == RefuseWidening:
		return fault.New(fault.Forbidden, "the plan permits more than before, which this organization refuses: declare a new one")
	case as == AllowWidening:
		n.compared.Widened, n.compared.WidenedMay = nil, nil
	}
	return nil
}

// signAnchor signs how the version follows the one before, and seals its text.
func (s *Service) signAnchor(ctx context.Context, n *newAnchor, key trustKey) (err error) {
	previous, err := selectAnchor(ctx, s.db, n.before)
	if err != nil {
		return err
	}
	n.anchor = trust.Anchor{
		ID:      database.NewID(),
		OrgID:   n.before.Binding.OrgID,
		PlanID:  n.before.ID,
		Number:  n.before.Anchor + 1,
		From:    n.before.Root,
		To:      n.tree.Root(),
		Widened: n.compared.Widened,
		Issued:  s.db.Now().Unix(),
	}
	if previous != "" {
		n.anchor.Previous = trust.HashOf(previous)
	}
	if n.signed, err = n.anchor.Sign(key.id, key.private); err != nil {
		return err
	}
	text, err := json.Marshal(sealedPlan{
		Plan: string(n.request.Plan), Widened: n.compared.Widened, WidenedMay: n.compared.WidenedMay,
	})
	n.sealed = s.sealer.Seal(sealContext(n.before.ID, n.anchor.To), text)
	return err
}

// anchoredAlready is the answer if the plan is the one that was sent.
func (s *Service) anchoredAlready(ctx context.Context, d *plan.Declared) (Reanchored, error) {
	same := Reanchored{Repeated: true, At: d.Issued}
	signed, err := selectAnchor(ctx, s.db, d)
	if err == nil && signed != "" {
		same.Signed = signed
		same.Anchor, err = trust.ReadAnchor(signed)
		return same, err
	}
	same.Anchor = trust.Anchor{
		ID:     d.ID,
		OrgID:  d.Binding.OrgID,
		PlanID: d.ID,
		Number: d.Anchor,
		From:   d.Root,
		To:     d.Root,
		Issued: d.Issued.Unix(),
	}
	return same, err
}

// addAnchor stores and records a version. Its entry raises the generation: the plan before is cached.
func (s *Service) addAnchor(ctx context.Context, tx *database.Tx, n *newAnchor, reason string) error {
	clean, err := scope.Clean(ctx, tx, ScopeOf(n.before.Binding))
	if err != nil {
		return err
	}
	if err := insertAnchor(ctx, tx, n, clean && n.before.Grounds); err != nil {
		return err
	}
	ended, err := endAccepted(ctx, tx, n.before.ID, plan.Expired)
	if err != nil {
		return err
	}
	added, err := s.log.Append(ctx, tx, audit.Entry{
		Log:     n.by.OrgID,
		Action:  reanchoredAction,
		Actor:   n.by,
		Subject: audit.Subject{Type: "plan", ID: n.before.ID},
		Payload: recordedAnchor{
			From:          n.anchor.From,
			To:            n.anchor.To,
			Anchor:        n.anchor.Number,
			Steps:         len(n.plan.Steps),
			Tools:         n.tools(),
			Widened:       n.compared.Widened,
			Reason:        redaction.Text(plainText(reason)),
			endedAccepted: ended,
		},
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE plan_anchor SET entry = $3 WHERE plan_id = $1 AND number = $2`, n.before.ID,
		n.anchor.Number, added.Index)
	return database.Wrap(err, "link anchor %d of plan %s to its entry", n.anchor.Number, n.before.ID)
}

// recordedAnchor is what the audit log says about a version: the plan in force at an entry is that of the last such
// entry before it.
type recordedAnchor struct {
	From    string   `json:"fromHash"`
	To      string   `json:"planHash"`
	Anchor  int64    `json:"anchor"`
	Steps   int      `json:"steps"`
	Tools   []string `json:"tools"`
	Widened []int    `json:"widened,omitempty"`
	Reason  string   `json:"reason,omitzero"`

	endedAccepted
}

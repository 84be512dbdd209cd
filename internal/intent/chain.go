package intent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// Limits of what is shown of a plan's delegations, those nearest to it first.
const (
	maxLinks = 500
	maxTexts = 4 << 20 // bytes of their plans
)

// Tree is a declared plan with all that was delegated from it.
type Tree struct {
	RootID string
	Links  []LinkView // the declared plan first; each after what it came from
	// Anchors are the versions of the declared plan, the first first.
	Anchors   []AnchorView
	Truncated bool // there are more delegations
}

// LinkView is a plan or delegation of a tree.
type LinkView struct {
	View
	Depth     int
	Further   int
	Envelope  bool
	Delegate  string // public key; empty: it is the declared plan
	AgentID   string
	Subtree   string
	CoveredBy []int // for each step, the parent's that covers it
	Budget    int64
	Calls     int64 // of the budget, that were made
	// Broken: it authorizes nothing, because of something that it came from.
	Broken bool
}

// Counts reports whether it authorizes anything, as far as plans say: keys and the standing of agents are not looked
// at.
func (v *LinkView) Counts() bool { return v.Status == plan.Active && !v.Broken && !v.usedUp() }

// usedUp reports whether all calls of its budget were made.
func (v *LinkView) usedUp() bool { return v.Budget > 0 && v.Calls >= v.Budget }

// AnchorView is a version of a plan.
type AnchorView struct {
	Number    int64
	Hash      string
	Signed    string // how it followed the one before; empty: it is the first
	Entry     int64  // in the log; -1: there is none
	CreatedAt time.Time
}

// Chain shows the tree that a plan or delegation belongs to. A key sees what its own came from, and what came of it.
func (s *Service) Chain(ctx context.Context, p principal.Principal, id string) (Tree, error) {
	if err := requireReader(p); err != nil {
		return Tree{}, err
	}
	row, err := findVisible(ctx, s.db, p, id)
	if err != nil {
		return Tree{}, err
	}
	t := Tree{RootID: row.ID}
	if row.ParentID != "" {
		if err := s.db.QueryRow(ctx, `SELECT root_id FROM delegation WHERE plan_id = $1`,
			id).Scan(&t.RootID); err != nil {
			return Tree{}, database.OrMissing(err, fault.New(fault.NotFound, "this plan was not delegated"),
				"find the root of plan %s", id)
		}
	}
	root, err := selectPlan(ctx, s.db, p.OrgID, t.RootID)
	if err != nil {
		return Tree{}, err
	}
	links, err := selectLinks(ctx, s.db, p.OrgID, t.RootID)
	if err != nil {
		return Tree{}, err
	}
	if t.Truncated = len(links) > maxLinks; t.Truncated {
		links = links[:maxLinks]
	}
	if err := readTexts(ctx, s.db, p, links); err != nil {
		return Tree{}, err
	}
	if t.Links, err = s.arrange(ctx, p, root, links, id); err != nil {
		return Tree{}, err
	}
	t.Anchors, err = selectAnchors(ctx, s.db, t.RootID)
	if err != nil || len(t.Anchors) == 0 {
		return t, err
	}
	declared, err := audit.FirstAbout(ctx, s.db, audit.LogOf(p.OrgID), audit.Subject{Type: "plan", ID: t.RootID})
	t.Anchors[0].Entry = declared
	return t, err
}

// arrange puts each link after what it came from, without those that the caller may not see.
func (s *Service) arrange(
	ctx context.Context, p principal.Principal, root planRow, links []linkRow, id string,
) ([]LinkView, error) {
	now := s.db.Now()
	views := []LinkView{{View: root.inChain(p, now), Further: plan.MaxDelegations}}
	if err := s.endStopped(ctx, p.OrgID, &views[0].View); err != nil {
		return nil, err
	}
	at := map[string]int{root.ID: 0}
	for _, link := range links {
		above, ok := at[link.row.ParentID]
		if !ok {
			continue // what it came from is not shown
		}
		v := link.view
		v.View = link.row.inChain(p, now)
		v.Binding.AgentID = v.AgentID
		if err := s.endStopped(ctx, p.OrgID, &v.View); err != nil {
			return nil, err
		}
		parent := views[above]
		v.Broken = parent.Broken || parent.Status != plan.Active || parent.usedUp()
		at[v.ID] = len(views)
		views = append(views, v)
	}
	if p.Kind != principal.Key {
		return views, nil
	}
	return slices.DeleteFunc(slices.Clone(views), func(v LinkView) bool {
		return !comesFrom(views, at, v.ID, id) && !comesFrom(views, at, id, v.ID)
	}), nil
}

// inChain is viewFor with the plan. A key reads no words of those that other keys declared or delegated.
func (r planRow) inChain(p principal.Principal, now time.Time) View {
	v := r.viewFor(p, now)
	if !readsText(p, r) {
		v.Goal = ""
	} else if len(r.shown) > 0 {
		v.Plan = r.shown
	}
	return v
}

func readsText(p principal.Principal, r planRow) bool {
	return readsPayloads(p) && (p.Kind != principal.Key || r.Binding.KeyID == p.KeyID)
}

// readTexts reads the plans of the first links that the caller may read, as far as they are few bytes together.
func readTexts(ctx context.Context, r database.Reader, p principal.Principal, links []linkRow) error {
	at := map[string]int{}
	var ids []any
	var places []string
	total := int64(0)
	for i := range links {
		if !readsText(p, links[i].row) {
			continue
		}
		if total += links[i].size; total > maxTexts {
			break
		}
		at[links[i].row.ID], ids = i, append(ids, links[i].row.ID)
		places = append(places, "$"+strconv.Itoa(len(ids)))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := database.Collect(ctx, r, func(s database.Scanner) (id string, err error) {
		var shown string
		if err = s.Scan(&id, &shown); err == nil {
			links[at[id]].row.shown = []byte(shown)
		}
		return id, err
	}, `
		SELECT a.plan_id, a.shown
		FROM plan p
		JOIN plan_anchor a ON a.plan_id = p.id AND a.number = p.anchor
		WHERE p.id IN (`+strings.Join(places, ", ")+`)`, ids...)
	return database.Wrap(err, "read the plans of delegations")
}

// comesFrom reports whether a link is another one, or came from it.
func comesFrom(views []LinkView, at map[string]int, id, from string) bool {
	for range plan.MaxDelegations + 1 {
		if id == from {
			return true
		}
		i, ok := at[id]
		if !ok {
			return false
		}
		id = views[i].ParentID
	}
	return false
}

// linkRow is a stored delegation.
type linkRow struct {
	row  planRow
	view LinkView // without View
	size int64    // of its plan, in bytes
}

// selectLinks reads the delegations of a plan without their texts, what they came from first, and one more than is
// shown.
func selectLinks(ctx context.Context, r database.Reader, orgID, rootID string) ([]linkRow, error) {
	rows, err := database.Collect(ctx, r, func(s database.Scanner) (l linkRow, err error) {
		var kind, covered string
		v := LinkView{}
		l.row, err = scanPlan(s, &kind, &v.Depth, &v.Further, &v.Delegate, &v.AgentID, &v.Subtree, &covered, &v.Budget,
			&v.Calls, &l.size)
		if err == nil {
			err = json.Unmarshal([]byte(covered), &v.CoveredBy)
		}
		v.Envelope = kind == kindEnvelope
		l.view = v
		return l, err
	}, `
		SELECT `+columns+`, d.kind, d.depth, d.further, d.delegate, d.agent_id, d.subtree, d.covered_by, d.budget, d.uses,
			octet_length(a.shown)
		FROM plan p
		JOIN plan_anchor a ON a.plan_id = p.id AND a.number = p.anchor
		JOIN delegation d ON d.plan_id = p.id
		WHERE d.root_id = $1 AND p.org_id = $2
		ORDER BY d.depth, d.created_at DESC, d.plan_id
		LIMIT $3`, rootID, orgID, maxLinks+1)
	return rows, database.Wrap(err, "list the delegations of plan %s", rootID)
}

func selectAnchors(ctx context.Context, r database.Reader, id string) ([]AnchorView, error) {
	anchors, err := database.Collect(ctx, r, func(s database.Scanner) (a AnchorView, err error) {
		err = s.Scan(&a.Number, &a.Hash, &a.Signed, &a.Entry, database.ToTime(&a.CreatedAt))
		return a, err
	}, `SELECT number, root, anchor, entry, created_at FROM plan_anchor WHERE plan_id = $1 ORDER BY number`, id)
	return anchors, database.Wrap(err, "list the anchors of plan %s", id)
}

package intent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// Mint stores the plan and issues its token. A plan is never refused for what
// policy says about its tools: that is decided call by call.
func (s *Service) Mint(ctx context.Context, p principal.Principal, r Request) (Minted, error) {
	if err := requireAgent(p); err != nil {
		return Minted{}, err
	}
	n, err := s.prepare(p, r)
	if err != nil {
		return Minted{}, err
	}
	if n.plan.AutoMinted() {
		if err := s.allowUnderRegistered(ctx, n); err != nil {
			return Minted{}, err
		}
	}
	if err := s.widening(ctx, n); err != nil {
		return Minted{}, err
	}
	// Signed before the queue: the committer waits for nothing but the database.
	if err := s.issue(ctx, n); err != nil {
		return Minted{}, err
	}
	repeats := ""
	err = s.db.Write(ctx, database.Change{Logs: []string{p.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		repeats, err = n.repeats(ctx, tx)
		if err != nil || repeats != "" {
			return err
		}
		if err := n.stillUnder(ctx, tx); err != nil {
			return err
		}
		return s.add(ctx, tx, n)
	}})
	switch {
	case err != nil:
		return Minted{}, err
	case repeats != "":
		return s.again(ctx, p, repeats)
	}
	return n.minted(), nil
}

// newPlan is a plan on its way into the database.
type newPlan struct {
	by       principal.Principal
	request  Request
	id       string
	plan     *plan.Plan
	tree     *plan.Tree
	policy   []byte
	shown    []byte
	goal     string // redacted, as source is
	source   string
	binding  plan.Binding
	identity string
	parentID string
	widened  []int     // steps that a plan under way does not permit
	issued   time.Time // in whole seconds
	expires  time.Time
	token    plan.Token
	jwt      string
	sealed   []byte
}

// prepare reads the request and completes what needs no database.
func (s *Service) prepare(p principal.Principal, r Request) (*newPlan, error) {
	r, err := r.checked()
	if err != nil {
		return nil, err
	}
	parsed, err := plan.Parse(r.Plan)
	if err != nil {
		return nil, err
	}
	policy, err := plan.Signable(r.Policy)
	if err != nil {
		return nil, err
	}
	shown, err := redaction.JSON(r.Plan)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the plan cannot be read")
	}
	n := &newPlan{
		by:      p,
		request: r,
		id:      database.NewID(),
		plan:    parsed,
		tree:    parsed.Tree(),
		policy:  policy,
		shown:   shown,
		goal:    redaction.Text(plainText(parsed.Goal)),
		source:  redaction.Text(plainText(parsed.Source)),
		issued:  s.db.Now().Truncate(time.Second),
		binding: plan.Binding{
			OrgID:   p.OrgID,
			KeyID:   p.KeyID,
			UserID:  r.UserID,
			Email:   r.Email,
			AgentID: r.AgentID,
			Context: r.ContextID,
			Session: r.SessionID,
		},
	}
	if n.identity, err = identityOf(n.binding); err != nil {
		return nil, err
	}
	n.expires = n.issued.Add(r.life())
	if p.ExpiresAt != nil && n.expires.After(*p.ExpiresAt) {
		n.expires = p.ExpiresAt.Truncate(time.Second) // what a key makes does not outlive it
	}
	return n, nil
}

// plainText is text without characters that no database takes, or that change
// what a terminal shows.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// identityOf is the composite identity: a hash over whom the plan is bound to.
func identityOf(b plan.Binding) (string, error) {
	text, err := canonical.Marshal(map[string]string{
		"org_id": b.OrgID, "key_id": b.KeyID, "user_id": b.UserID, "user_email": b.Email, "agent_id": b.AgentID,
		"context_id": b.Context,
	})
	if err != nil {
		return "", fmt.Errorf("composite identity: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// issue signs the token and the JWT, and seals all that must be given again.
func (s *Service) issue(ctx context.Context, n *newPlan) error {
	key, err := s.keys.Current(ctx, PlanKey)
	if err != nil {
		return err
	}
	root := n.tree.Root()
	n.token, err = plan.Token{
		PlanHash: root, IssuedAt: n.issued.Unix(), ExpiresAt: n.expires.Unix(),
		Policy: n.policy, Identity: n.identity, Version: plan.PlanVersion,
	}.Sign(key.Private)
	if err != nil {
		return err
	}
	if key, err = s.keys.Current(ctx, JWTKey); err != nil {
		return err
	}
	n.jwt, err = plan.JWT{
		PlanID:   n.id,
		PlanHash: root,
		Identity: n.identity,
		Issued:   n.issued,
		Expires:  n.expires,
	}.Sign(key.ID, key.Private)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealedPlan{Plan: string(n.request.Plan), Token: n.token, JWT: n.jwt, Widened: n.widened})
	if err != nil {
		return fmt.Errorf("seal plan %s: %w", n.id, err)
	}
	n.sealed = s.sealer.Seal(sealContext(n.id, root), text)
	return nil
}

// sealedPlan is what is stored sealed: the exact text of the plan, and what was
// issued for it.
type sealedPlan struct {
	Plan  string     `json:"plan"`
	Token plan.Token `json:"token"`
	JWT   string     `json:"jwt"`
	// Widened is no part of what was signed, and of what nobody may alter.
	Widened []int `json:"widened,omitempty"`
}

// sealContext ties sealed bytes to their row and to the hash beside them.
func sealContext(planID, root string) string { return "plan/" + planID + "/" + root }

// add stores the plan and records it. A new plan makes nothing old that anyone
// remembers, so it is an observation and leaves the log's generation.
func (s *Service) add(ctx context.Context, tx *database.Tx, n *newPlan) error {
	if err := insertPlan(ctx, tx, n); err != nil {
		return err
	}
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         n.by.OrgID,
		Action:      mintedAction,
		Actor:       n.by,
		Subject:     audit.Subject{Type: "plan", ID: n.id},
		Observation: true,
		Payload: recorded{
			Hash:      n.tree.Root(),
			Goal:      n.goal,
			Source:    n.source,
			Steps:     len(n.plan.Steps),
			Tools:     n.tools(),
			User:      n.binding.UserID,
			Email:     n.binding.Email,
			Agent:     n.binding.AgentID,
			Context:   n.binding.Context,
			Session:   n.binding.Session,
			ExpiresAt: n.expires.Unix(),
			Under:     n.parentID,
			Widened:   n.widened,
		},
	})
	return err
}

// recorded is what the audit log says about a new plan.
type recorded struct {
	Hash      string   `json:"planHash"`
	Goal      string   `json:"goal,omitzero"`
	Source    string   `json:"source,omitzero"`
	Steps     int      `json:"steps"`
	Tools     []string `json:"tools"` // the first of them, each once
	User      string   `json:"userId,omitzero"`
	Email     string   `json:"userEmail,omitzero"`
	Agent     string   `json:"agentId,omitzero"`
	Context   string   `json:"contextId,omitzero"`
	Session   string   `json:"sessionId,omitzero"`
	ExpiresAt int64    `json:"expiresAt"`
	Under     string   `json:"under,omitzero"`
	Widened   []int    `json:"widened,omitempty"` // steps that a plan under way did not permit
}

// recordedTools is how many tools of a plan the audit log names. The plan's hash
// stands beside them and covers all.
const recordedTools = 50

func (n *newPlan) tools() []string {
	tools := []string{}
	for _, step := range n.plan.Steps {
		name := redaction.Text(step.Server + "." + step.Tool)
		if len(tools) < recordedTools && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return tools
}

func (n *newPlan) minted() Minted {
	root := n.tree.Root()
	return Minted{
		PlanID:            n.id,
		IntentReference:   referenceMark + n.id,
		PlanHash:          root,
		MerkleRoot:        root,
		CompositeIdentity: n.identity,
		StepProofs:        n.tree.StepProofs(),
		Token:             n.token,
		JWT:               n.jwt,
		Plan:              n.plan,
		Widened:           n.widened,
	}
}

// again rebuilds the answer that was given for a plan.
func (s *Service) again(ctx context.Context, p principal.Principal, planID string) (Minted, error) {
	row, err := selectPlan(ctx, s.db, p.OrgID, planID)
	if err != nil {
		return Minted{}, err
	}
	stored, err := s.open(row)
	if err != nil {
		return Minted{}, err
	}
	parsed, err := plan.Parse([]byte(stored.Plan))
	if err != nil {
		return Minted{}, fmt.Errorf("stored plan %s: %w", planID, err)
	}
	tree := parsed.Tree()
	return Minted{
		PlanID: planID, IntentReference: referenceMark + planID, PlanHash: tree.Root(), MerkleRoot: tree.Root(),
		CompositeIdentity: stored.Token.Identity, StepProofs: tree.StepProofs(), Token: stored.Token, JWT: stored.JWT,
		Plan: parsed, Widened: stored.Widened, Repeated: true,
	}, nil
}

// body is a digest of all that the request asks for, by which a repeated
// Idempotency-Key is told from one that was used for something else.
func (n *newPlan) body() ([]byte, error) {
	r := n.request
	text, err := canonical.Marshal(struct {
		Plan, Policy     jsontext.Value
		ExpiresIn        *float64
		User, Email      string
		Agent            string
		Context, Session string
	}{r.Plan, n.policy, r.ExpiresIn, r.UserID, r.Email, r.AgentID, r.ContextID, r.SessionID})
	if err != nil {
		return nil, fmt.Errorf("digest of the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// repeats is the plan that was minted for the same Idempotency-Key before, or
// empty. The key is taken for this plan then.
func (n *newPlan) repeats(ctx context.Context, tx *database.Tx) (planID string, err error) {
	if n.request.IdempotencyKey == "" {
		return "", nil
	}
	body, err := n.body()
	if err != nil {
		return "", err
	}
	name := sha256.Sum256([]byte(n.request.IdempotencyKey))
	planID, earlier, err := selectRequest(ctx, tx, n.by.KeyID, name[:])
	switch {
	case err != nil:
		return "", err
	case planID == "":
		return "", nil
	case string(earlier) != string(body):
		return "", fault.New(fault.Conflict, "this Idempotency-Key was used for another request: use a new one")
	}
	return planID, nil
}

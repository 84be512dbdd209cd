package intent

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/intent/ticket"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// Within a turn every plan is compared with all of that turn, ended or not, so that ending a plan and registering
// another cannot widen it silently. A plan that adds something must say that it amends the others, and why;
// the log tells what it adds, and a person must agree to the calls of what was added.

// MaxTurnPlans is how many plans a turn may have.
const MaxTurnPlans = 50

const maxAmends = 500 // bytes

// againHint says how a model gets another ticket.
const againHint = ": call the tool again, and the hook of your host adds a new ticket"

// Ticket makes a ticket for the present turn of a guarded session. The caller must name that turn: a hook that names
// another one works for another one.
func (s *Service) Ticket(
	ctx context.Context, p principal.Principal, sessionID string, turn int64,
) (text string, expires time.Time, err error) {
	if err := requireAgent(p); err != nil {
		return "", time.Time{}, err
	}
	r, err := Request{SessionID: sessionID}.checked()
	if err != nil {
		return "", time.Time{}, err
	}
	found, err := s.openSession(ctx, s.db, p, r.SessionID)
	if err != nil {
		return "", time.Time{}, err
	}
	if turn != found.Turn {
		return "", time.Time{}, errOtherTurn()
	}
	issued := s.db.Now().Truncate(time.Second)
	t := ticket.Ticket{
		ID:      database.NewID(),
		OrgID:   p.OrgID,
		KeyID:   p.KeyID,
		Session: found.ID,
		Turn:    found.Turn,
		Issued:  issued,
		Expires: issued.Add(ticket.Life),
	}
	key, err := s.keys.Current(ctx, JWTKey)
	if err != nil {
		return "", time.Time{}, err
	}
	text, err = t.Sign(key.ID, key.Private)
	return text, t.Expires, err
}

func errOtherTurn() error {
	return fault.New(fault.Conflict, "the session has another turn by now%s", againHint)
}

// openSession reads a guarded session that has a turn and has not ended.
func (s *Service) openSession(
	ctx context.Context, r database.Reader, p principal.Principal, id string,
) (*Session, error) {
	found, err := findSession(ctx, r, p, id)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, noSuchSession()
	case found.Turn == 0 || found.Ended:
		return nil, fault.New(fault.Conflict, "no turn of this session is open: it opens with the person's next prompt")
	}
	return found, nil
}

func noSuchSession() error {
	return fault.New(fault.NotFound, "this key has no such guarded session: its hooks must open a turn first")
}

// readTicket reads a ticket of the caller. It does not use it up.
func (s *Service) readTicket(ctx context.Context, p principal.Principal, text string) (*ticket.Ticket, error) {
	t, err := ticket.Verify(strings.TrimSpace(text), func(id string) (ed25519.PublicKey, error) {
		key, err := s.keys.Find(ctx, JWTKey, id)
		return key.Public, err
	})
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Forbidden, "session_ticket is no ticket of this server%s", againHint)
	case t.OrgID != p.OrgID || t.KeyID != p.KeyID:
		return nil, fault.New(fault.Forbidden, "session_ticket belongs to another key%s", againHint)
	case !t.Current(s.db.Now()):
		return nil, fault.New(fault.Forbidden, "session_ticket has expired%s", againHint)
	}
	return &t, nil
}

// use uses a ticket up, if it is for the present turn.
func (g *guarded) use(ctx context.Context, tx *database.Tx, t *ticket.Ticket) error {
	if g.Ended || g.Turn != t.Turn {
		return errOtherTurn()
	}
	fresh, err := useTicket(ctx, tx, t)
	if err == nil && !fresh {
		err = fault.New(fault.Conflict, "session_ticket was used before%s", againHint)
	}
	return err
}

// admit checks the ticket of a request, and takes the session from it.
func (s *Service) admit(
	ctx context.Context, p principal.Principal, r Request,
) (Request, *ticket.Ticket, error) {
	r.Amends = strings.TrimSpace(r.Amends)
	if r.Ticket == "" {
		if r.Amends != "" {
			return r, nil, fault.Field("amends", "must be absent without session_ticket")
		}
		return r, nil, nil
	}
	t, err := s.readTicket(ctx, p, r.Ticket)
	switch {
	case err != nil:
		return r, nil, err
	case len(r.Amends) > maxAmends:
		return r, nil, fault.Field("amends", "must be at most %d bytes", maxAmends)
	case r.SessionID != "" && r.SessionID != t.Session:
		return r, nil, fault.Field("session_id", "must be absent, or that of session_ticket")
	case r.ContextID != "" && r.ContextID != defaultContext:
		return r, nil, fault.Field("context_id", "must be absent with session_ticket")
	case r.Prompt != nil:
		return r, nil, fault.Field("prompt", "must be absent with session_ticket: hooks state it")
	}
	found, err := s.openSession(ctx, s.db, p, t.Session)
	if err != nil {
		return r, nil, err
	}
	if r.AgentID != "" && found.AgentID != "" && r.AgentID != found.AgentID {
		return r, nil, fault.Field("agent_id", "must be absent, or that of the session")
	}
	r.SessionID = t.Session
	if found.AgentID != "" {
		r.AgentID = found.AgentID
	}
	return r, t, nil
}

// compare finds what a new plan adds to those of its turn, and refuses what it may not add.
func (s *Service) compare(ctx context.Context, n *newPlan) error {
	found, err := s.openSession(ctx, s.db, n.by, n.binding.Session)
	if err != nil {
		return err
	}
	if n.compared, err = selectTurnPlans(ctx, s.db, n.binding, found.Since, MaxTurnPlans); err != nil {
		return err
	}
	if len(n.compared) >= MaxTurnPlans {
		return fault.New(fault.Conflict, "this turn has %d plans, and may have no more: tell the person, whose next "+
			"prompt begins a new turn", MaxTurnPlans)
	}
	before := make([]*plan.Declared, len(n.compared))
	for i, id := range n.compared {
		if before[i], err = s.readCompared(ctx, n, id); err != nil {
			return err
		}
	}
	n.issued.Widened, n.issued.WidenedMay = n.plan.Widening(before), n.plan.WideningMay(before)
	if added := n.added(); len(added) > 0 && n.request.Amends == "" {
		return fault.New(fault.Conflict, "the plan adds %s to the plans of this turn: leave that out, or register the "+
			"whole plan with amends, which says why it is needed; a person must then agree to the calls of what was added",
			listed(added))
	}
	return nil
}

// readCompared reads a plan of the turn. One whose text was erased permits nothing. A live plan with the same text is a
// duplicate.
func (s *Service) readCompared(ctx context.Context, n *newPlan, id string) (*plan.Declared, error) {
	row, err := selectPlan(ctx, s.db, n.binding.OrgID, id)
	if err != nil {
		return nil, err
	}
	if len(row.sealed) == 0 {
		return &plan.Declared{ID: id, Plan: &plan.Plan{}}, nil
	}
	d, err := s.declared(ctx, s.db, row)
	if err != nil || d.Root != n.tree.Root() || d.Status != plan.Active || !s.db.Now().Before(d.Expires) {
		return d, err
	}
	if ended, err := s.hasEnded(ctx, s.db, d); err != nil || ended {
		return d, err
	}
	return nil, fault.New(fault.Conflict, "this very plan is registered already as %s and is live: go on with it", id)
}

// added names the tools of what the plan adds, each once, without their arguments.
func (n *newPlan) added() (tools []string) {
	add := func(s plan.Step) {
		if name := redaction.Text(plainText(s.Server + "." + s.Tool)); !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	for _, i := range n.issued.Widened {
		add(n.plan.Steps[i])
	}
	for _, i := range n.issued.WidenedMay {
		add(n.plan.May[i])
	}
	return tools
}

// listed is the first tools as one text.
func listed(tools []string) string {
	const most = 10
	text := strings.Join(tools[:min(len(tools), most)], ", ")
	if len(tools) > most {
		text += " and more"
	}
	return text
}

// stillCurrent reports within the transaction whether a new plan must be compared again, because its turn has another
// plan by now. It uses up the ticket.
func (n *newPlan) stillCurrent(ctx context.Context, tx *database.Tx) (stale bool, err error) {
	if n.binding.Session == "" {
		return false, nil
	}
	found, err := findSession(ctx, tx, n.by, n.binding.Session)
	if err != nil {
		return false, err
	}
	if n.ticket == nil {
		if found != nil {
			err = fault.New(fault.Forbidden,
				"this session is guarded, so that its plans need a session_ticket: register "+
					"the plan by the tool register_intent_plan, to which the hook of the host adds one")
		}
		return false, err
	}
	if found == nil {
		return false, noSuchSession()
	}
	g := &guarded{Session: *found, by: n.by}
	if g.Ended || g.Turn != n.ticket.Turn {
		return false, errOtherTurn()
	}
	ids, err := selectTurnPlans(ctx, tx, n.binding, found.Since, MaxTurnPlans)
	if err != nil || !slices.Equal(ids, n.compared) {
		return err == nil, err
	}
	if err := g.use(ctx, tx, n.ticket); err != nil {
		return false, err
	}
	return false, storeSession(ctx, tx, g)
}

package scope

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
)

// Call is an allowed call.
type Call struct {
	KeyID      string // that asked; empty: the key of the scope
	DecisionID string
	PlanID     string
	Tool       string
	WireName   string // server and tool as harnesses join them
	Digest     []byte // of the arguments; empty: nobody has seen them
	Arguments  string // JSON
	Class      grounding.Class
	Uses       []string // identities that it uses
	Position   int64    // of the decision in the log
	Carried    bool     // by the proxy, which alone reports its output
}

// dropEvery is after how many revisions the oldest calls of a scope are dropped: more are stored than are judged by,
// so that one change in many pays for dropping.
const dropEvery = 32

// Allow adds an allowed call to a scope, in the decision's transaction: its output is unknown until it is reported.
func (s *Service) Allow(ctx context.Context, tx *database.Tx, key Key, c Call) error {
	number, err := raiseOnly(ctx, tx, key.OrgID, key.ID())
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealedCall{c.Tool, c.Class, c.Arguments, c.Uses, c.Carried})
	if err != nil {
		return fmt.Errorf("seal a call: %w", err)
	}
	state := int64(awaited)
	if c.Carried {
		state = carried
	}
	if len(c.Digest) == 0 {
		state = unknown
		c.Digest = []byte{}
	}
	_, err = tx.Prepared().Exec(ctx, `
		INSERT INTO known_output (id, org_id, scope_id, base_id, number, key_id, plan_id, tool, wire_name, digest, state, size, decided,
			reported, sealed_call, sealed_output)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, -1, $13, $14)`,
		c.DecisionID, key.OrgID, key.ID(), key.base(), number, cmp.Or(c.KeyID, key.KeyID), c.PlanID, c.Tool, c.WireName,
		c.Digest, state, c.Position, s.sealer.Seal(callContext(c.DecisionID), text), []byte{})
	if err != nil {
		return fmt.Errorf("store an allowed call: %w", err)
	}
	if number%dropEvery != 0 {
		return nil
	}
	return dropOld(ctx, tx, key.ID())
}

// raise raises the revision of a scope, which it makes if there is none. What was read of it is read again.
func raise(ctx context.Context, tx *database.Tx, orgID, id string) error {
	if _, err := raiseOnly(ctx, tx, orgID, id); err != nil {
		return err
	}
	_, err := tx.Prepared().Exec(ctx, `UPDATE known_scope SET rewritten = revision WHERE id = $1`, id)
	return database.Wrap(err, "change what is known of a session")
}

// raiseOnly raises the revision of a scope by a call that is added.
func raiseOnly(ctx context.Context, tx *database.Tx, orgID, id string) (number int64, err error) {
	err = tx.Prepared().QueryRow(ctx, `
		INSERT INTO known_scope (id, org_id, revision, spoken, dropped, prompt_bytes, used_at)
		VALUES ($1, $2, 1, 0, 0, 0, $3)
		ON CONFLICT (id) DO UPDATE SET revision = known_scope.revision + 1, used_at = excluded.used_at
		RETURNING revision`, id, orgID, database.Micros(tx.Now())).Scan(&number)
	return number, database.Wrap(err, "change what is known of a session")
}

// dropOld drops the oldest outputs of a scope beyond the limits.
func dropOld(ctx context.Context, tx *database.Tx, id string) error {
	var count, bytes int64
	err := tx.Prepared().QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(size), 0) FROM known_output WHERE scope_id = $1`,
		id).Scan(&count, &bytes)
	if err != nil {
		return fmt.Errorf("count the outputs of a session: %w", err)
	}
	if count <= grounding.MaxOutputs && bytes <= grounding.MaxBytes {
		return nil
	}
	return dropOldest(ctx, tx, id)
}

func dropOldest(ctx context.Context, tx *database.Tx, id string) error {
	type row struct{ number, size int64 }
	rows, err := database.Collect(ctx, tx.Prepared(), func(r database.Scanner) (o row, err error) {
		err = r.Scan(&o.number, &o.size)
		return o, err
	}, `
		SELECT number, size
		FROM known_output
		WHERE scope_id = $1
		ORDER BY number DESC`, id)
	if err != nil {
		return fmt.Errorf("read the sizes of outputs: %w", err)
	}
	var size int64
	for i, o := range rows {
		if size += o.size; i < grounding.MaxOutputs && size <= grounding.MaxBytes {
			continue
		}
		_, err := tx.Prepared().Exec(ctx, `DELETE FROM known_output WHERE scope_id = $1 AND number <= $2`, id, o.number)
		if err != nil {
			return fmt.Errorf("drop outputs: %w", err)
		}
		_, err = tx.Prepared().Exec(ctx, `UPDATE known_scope SET dropped = 1 WHERE id = $1 AND dropped = 0`, id)
		return database.Wrap(err, "note that outputs were dropped")
	}
	return nil
}

// Heard says what becomes of an output that no decision waits for.
type Heard int

// What an organization follows.
const (
	NotHeard    Heard = iota // nobody judges calls by what is known
	HeardBeside              // it is stored beside others; without these it is enough to know that there was one
	HeardAlways              // it is stored
)

// Report is what a client says that a call returned.
type Report struct {
	OrgID, KeyID, PlanID string
	Scope                Key   // of what the tool returned
	Heard                Heard // what becomes of it if no decision waits for it
	Tool                 string
	WireName             string // if the tool's name is one that harnesses join; empty: it is not
	OtherWireName        string // if it may be of a second server; see toolname.CalledWires
	Digest               []byte
	Output               *string // nil: absent, cut or unreadable
	Absent               bool    // it has no output at all
	// Carried is the decision about a call that the proxy has carried out; empty: a client reports.
	Carried  string
	Position int64 // of the report in the log
}

// Take lets a report take the oldest call that waits and is of the same key, plan, tool and arguments, and returns the
// id of its decision. Without one it returns "", and the report grounds nothing.
func (s *Service) Take(ctx context.Context, tx *database.Tx, r Report) (decisionID string, err error) {
	decisionID, scopeID, base, err := find(ctx, tx, r)
	switch {
	case err != nil:
		return "", err
	case scopeID == "" && r.Carried == "" && r.Heard != NotHeard:
		return "", s.overhear(ctx, tx, r)
	case scopeID == "":
		return decisionID, nil
	}
	text, state := "", int64(unknown)
	if r.Output != nil && len(*r.Output) <= grounding.MaxBytes {
		text, state = *r.Output, known
	}
	spoken, err := raiseSpoken(ctx, tx, r.OrgID, scopeID, base)
	if err != nil {
		return "", err
	}
	// An empty output is known too, so that what is sealed is never empty.
	_, err = tx.Prepared().Exec(ctx, `
		UPDATE known_output
		SET state = $2, size = $3, reported = $4, sealed_output = $5
		WHERE id = $1`, decisionID, state, len(text), r.Position,
		s.sealer.Seal(outputContext(decisionID), []byte(text)))
	if err != nil {
		return "", fmt.Errorf("store an output: %w", err)
	}
	if !spoken && (state == unknown || speaks(text)) {
		if err := speak(ctx, tx, r.OrgID, scopeID, base); err != nil {
			return "", err
		}
	}
	tx.AfterCommit(func() { s.readAhead(scopeID, r.PlanID) })
	return decisionID, dropOld(ctx, tx, scopeID)
}

// find finds the call that a report takes. The proxy knows which one it carried out; what nobody follows has no scope.
func find(ctx context.Context, tx *database.Tx, r Report) (decisionID, scopeID, base string, err error) {
	if r.Carried != "" {
		err = tx.Prepared().QueryRow(ctx, `
			SELECT scope_id, base_id
			FROM known_output
			WHERE id = $1 AND org_id = $2 AND key_id = $3 AND state = 3`, r.Carried, r.OrgID, r.KeyID).Scan(&scopeID,
			&base)
		return r.Carried, scopeID, base, database.OrMissing(err, nil, "find the call that was carried out")
	}
	if len(r.Digest) == 0 {
		return "", "", "", nil
	}
	err = tx.Prepared().QueryRow(ctx, `
		SELECT id, scope_id, base_id
		FROM known_output
		WHERE org_id = $1 AND key_id = $2 AND plan_id = $3 AND state = 0 AND digest = $4
			AND (tool = $5 OR wire_name IN ($6, $7) AND wire_name <> '')
		ORDER BY CASE WHEN tool = $5 OR wire_name = $6 THEN 0 ELSE 1 END, number
		LIMIT 1`, r.OrgID, r.KeyID, r.PlanID, r.Digest, r.Tool, r.WireName, r.OtherWireName).Scan(&decisionID, &scopeID,
		&base)
	return decisionID, scopeID, base, database.OrMissing(err, nil, "find the call of a report")
}

// maxRead is the size up to which an output is read for running text while others wait for the commit. A larger one
// counts as running text.
const maxRead = 64 << 10

func speaks(text string) bool {
	return len(text) > maxRead || grounding.Speaks(text)
}

// raiseSpoken raises the revision of a scope, and reports whether it is known already that it and its key's have
// running text.
func raiseSpoken(ctx context.Context, tx *database.Tx, orgID, id, base string) (bool, error) {
	if err := raise(ctx, tx, orgID, id); err != nil {
		return false, err
	}
	return isSpoken(ctx, tx, id, base)
}

// isSpoken reports whether a scope and its base are known to have running text.
func isSpoken(ctx context.Context, tx *database.Tx, id, base string) (bool, error) {
	var spoken int64
	err := tx.Prepared().QueryRow(ctx, `SELECT COUNT(*) FROM known_scope WHERE (id = $1 OR id = $2) AND spoken = 1`, id,
		base).Scan(&spoken)
	return spoken == 2 || spoken == 1 && id == base, database.Wrap(err, "read whether a session has running text")
}

// speak notes that a scope, and its key's, has running text.
func speak(ctx context.Context, tx *database.Tx, orgID, id, base string) error {
	if base != id {
		if err := raise(ctx, tx, orgID, base); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE known_scope SET spoken = 1 WHERE id = $1 OR id = $2`, id, base)
	return database.Wrap(err, "note that a text was reported")
}

// Close makes the output of a decision unknown for good: another report was matched with it.
func (s *Service) Close(ctx context.Context, tx *database.Tx, orgID, decisionID string) error {
	var scopeID string
	err := tx.QueryRow(ctx, `SELECT scope_id FROM known_output WHERE id = $1 AND org_id = $2 AND state = 0`, decisionID,
		orgID).Scan(&scopeID)
	if err = database.OrMissing(err, nil, "find a call"); err != nil || scopeID == "" {
		return err
	}
	if err := raise(ctx, tx, orgID, scopeID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE known_output SET state = 2 WHERE id = $1`, decisionID)
	return database.Wrap(err, "close a call")
}

// Clean reports whether no running text was reported in a scope, and no call waits for its report: only then a plan
// that is declared now speaks for the user.
func Clean(ctx context.Context, r database.Reader, key Key) (bool, error) {
	var spoken, dropped bool
	err := r.QueryRow(ctx, `SELECT spoken, dropped FROM known_scope WHERE id = $1`, key.ID()).Scan(
		database.ToBool(&spoken), database.ToBool(&dropped))
	if err = database.OrMissing(err, nil, "read what is known of a session"); err != nil || spoken || dropped {
		return false, err
	}
	var count, waiting int64
	err = r.QueryRow(ctx, `
		SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = 1 THEN 0 ELSE 1 END), 0)
		FROM known_output
		WHERE scope_id = $1`, key.ID()).Scan(&count, &waiting)
	return waiting == 0 && count <= grounding.MaxOutputs, database.Wrap(err, "count the calls that wait")
}

// Say adds the user's words to a scope. planID is the plan that was declared with them, if any; position that of their
// entry in the log.
func (s *Service) Say(ctx context.Context, tx *database.Tx, key Key, planID, text string, position int64) error {
	if err := raise(ctx, tx, key.OrgID, key.ID()); err != nil {
		return err
	}
	changed, err := tx.Exec(ctx, `
		UPDATE known_scope
		SET prompt_bytes = prompt_bytes + $2
		WHERE id = $1 AND prompt_bytes + $2 <= $3`, key.ID(), len(text), grounding.MaxPrompts)
	if err != nil {
		return fmt.Errorf("count the prompts of a session: %w", err)
	}
	if changed == 0 {
		return fault.New(fault.TooLarge, "the prompts of one session may have %d bytes together", grounding.MaxPrompts)
	}
	id := database.NewID()
	_, err = tx.Exec(ctx, `
		INSERT INTO known_prompt (id, scope_id, plan_id, position, sealed, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, id, key.ID(), planID, position,
		s.sealer.Seal(promptContext(id), []byte(text)),
		database.Micros(tx.Now()))
	return database.Wrap(err, "store a prompt")
}

// Show adds text that is not the user's to a scope, as if a tool had returned it: of a file that the harness attached,
// for example.
func (s *Service) Show(ctx context.Context, tx *database.Tx, key Key, text string, position int64) error {
	return s.hear(ctx, tx, key, "prompt", text, position)
}

// hear stores a text that no decision of the session let come, under the name of what it came from.
func (s *Service) hear(
	ctx context.Context, tx *database.Tx, key Key, from, text string, position int64,
) error {
	id := database.NewID()
	err := s.Allow(ctx, tx, key, Call{DecisionID: id, Tool: from, Class: grounding.Write, Position: position})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE known_output
		SET state = 1, size = $2, sealed_output = $3
		WHERE id = $1`, id, len(text), s.sealer.Seal(outputContext(id), []byte(text)))
	if err != nil {
		return fmt.Errorf("store a text: %w", err)
	}
	spoken, err := isSpoken(ctx, tx, key.ID(), key.base())
	if err == nil && !spoken {
		err = speak(ctx, tx, key.OrgID, key.ID(), key.base())
	}
	if err != nil {
		return err
	}
	return dropOld(ctx, tx, key.ID())
}

package scope

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/intent/grounding"
)

// unasked begins the text of such a call. It is running text that way, none of whose fields grounds anything.
const unasked = "A tool returned this to a call that no decision waits for: "

// overhear notes that a tool has returned something to a call which no decision allowed, or which was allowed once and
// ran again. The session has heard it all the same, and whoever wrote it may order anything.
func (s *Service) overhear(ctx context.Context, tx *database.Tx, r Report) error {
	told, err := s.isTold(ctx, tx, r)
	if err != nil || told {
		return err
	}
	follows, err := follows(ctx, tx, r)
	if err != nil {
		return err
	}
	if follows && r.Output != nil && len(unasked)+len(*r.Output) <= grounding.MaxBytes {
		return s.hear(ctx, tx, r.Scope, r.Tool, unasked+*r.Output, r.Position)
	}
	return miss(ctx, tx, r.Scope)
}

// follows reports whether outputs of the report's scope are stored. Once one was dropped no other matters.
func follows(ctx context.Context, tx *database.Tx, r Report) (bool, error) {
	var dropped, outputs int64
	err := tx.Prepared().QueryRow(ctx, `
		SELECT COALESCE(MAX(dropped), 0), (SELECT COUNT(*) FROM known_output WHERE scope_id = $1)
		FROM known_scope
		WHERE id = $1`, r.Scope.ID()).Scan(&dropped, &outputs)
	return dropped == 0 && (r.Heard == HeardAlways || outputs > 0),
		database.Wrap(err, "read whether a session is followed")
}

// miss notes, once, that a session heard something which nobody knows: no field and no text of it grounds anything from
// here on, as where an output was dropped.
func miss(ctx context.Context, tx *database.Tx, key Key) error {
	id, base := key.ID(), key.base()
	var noted bool
	err := tx.Prepared().QueryRow(ctx, `SELECT COUNT(*) FROM known_scope WHERE id = $1 AND dropped = 1`, id).Scan(
		database.ToBool(&noted))
	if err != nil {
		return fmt.Errorf("read what is known of a session: %w", err)
	}
	spoken, err := isSpoken(ctx, tx, id, base)
	if err != nil || noted && spoken {
		return err
	}
	if err := raise(ctx, tx, key.OrgID, id); err != nil {
		return err
	}
	if err := speak(ctx, tx, key.OrgID, id, base); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE known_scope SET dropped = 1 WHERE id = $1`, id)
	return database.Wrap(err, "note that a session heard what nobody knows")
}

// told is a call of the session whose output is accounted for.
type told struct {
	id                       string
	state                    int64
	sealedCall, sealedOutput []byte
}

// isTold reports whether a report says again what is known of a call: published clients report in several shapes. Of
// what the proxy has carried out only its own word counts. Whoever wrote an output may have made it look as if it were
// cut, so that a cut one is never a repetition.
func (s *Service) isTold(ctx context.Context, tx *database.Tx, r Report) (bool, error) {
	calls, err := database.Collect(ctx, tx.Prepared(), func(row database.Scanner) (c told, err error) {
		err = row.Scan(&c.id, &c.state, &c.sealedCall, &c.sealedOutput)
		return c, err
	}, `
		SELECT id, state, sealed_call, sealed_output
		FROM known_output
		WHERE scope_id = $1 AND state <> 0 AND (digest = $2 AND length(digest) > 0 OR state = 2)
			AND (tool = $3 OR wire_name IN ($4, $5) AND wire_name <> '')`,
		r.Scope.ID(), r.Digest, r.Tool, r.WireName, r.OtherWireName)
	if err != nil {
		return false, fmt.Errorf("find the call that a report repeats: %w", err)
	}
	for _, c := range calls {
		if same, err := s.says(c, r); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// says reports whether a call's output is what a report says it is. An unknown or erased one may be anything already.
func (s *Service) says(c told, r Report) (bool, error) {
	if c.state != known || r.Absent || len(c.sealedCall) == 0 || len(c.sealedOutput) == 0 {
		return true, nil
	}
	call, err := s.openCall(c.id, c.sealedCall)
	if err != nil || call.Carried {
		return call.Carried, err
	}
	if r.Output == nil {
		return false, nil
	}
	text, err := s.sealer.Open(outputContext(c.id), c.sealedOutput)
	return err == nil && string(text) == *r.Output, err
}

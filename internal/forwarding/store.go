package forwarding

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
)

const selectColumns = `
	SELECT f.org_id, f.endpoint, f.header_names, f.sealed_headers, f.send_traces, f.send_decisions, f.content, f.max_age, f.enabled, f.disabled_reason,
		f.created_at, f.updated_at, f.revision, f.trace_position, f.trace_row, f.trace_span, f.decision_position,
		f.sent_spans, f.sent_decisions, f.refused, f.lost_traces, f.lost_decisions, f.lost_until,
		f.attempts, f.failing_since, f.http_status, f.problem, f.sent_at, f.retry_at
	FROM forwarding f
	JOIN organization o ON o.id = f.org_id AND o.closed_at IS NULL
	`

func scanForwarding(s database.Scanner) (f Forwarding, err error) {
	var names string
	var traces, decisions, enabled, age, created, updated, at, retry int64
	var lost, failing, sent sql.NullInt64
	err = s.Scan(&f.OrgID, &f.Endpoint, &names, &f.sealedHeaders, &traces, &decisions, &f.Content, &age, &enabled,
		&f.DisabledReason,
		&created, &updated, &f.revision, &at, &f.Trace.Row, &f.Span, &f.Decision,
		&f.SentSpans, &f.SentDecisions, &f.Refused, &f.LostTraces, &f.LostDecisions, &lost,
		&f.Attempts, &failing, &f.HTTPStatus, &f.Problem, &sent, &retry)
	f.HeaderNames = []string{}
	if names != "" {
		f.HeaderNames = strings.Split(names, ",")
	}
	f.Traces, f.Decisions, f.Enabled = traces == 1, decisions == 1, enabled == 1
	f.MaxAge = time.Duration(age) * time.Microsecond
	f.CreatedAt, f.UpdatedAt, f.RetryAt, f.Trace.At = database.Time(created), database.Time(updated),
		database.Time(retry), database.Time(at)
	f.LostUntil, f.FailingSince, f.SentAt = database.OptionalTime(lost), database.OptionalTime(failing),
		database.OptionalTime(sent)
	return f, err
}

// selectForwarding reads the forwarding of an organization that is not closed.
func selectForwarding(ctx context.Context, r database.Reader, orgID string) (Forwarding, error) {
	if !database.IsID(orgID) {
		return Forwarding{}, notFound()
	}
	f, err := scanForwarding(r.QueryRow(ctx, selectColumns+`WHERE f.org_id = $1`, orgID))
	if errors.Is(err, sql.ErrNoRows) {
		return Forwarding{}, notFound()
	}
	if err != nil {
		return Forwarding{}, fmt.Errorf("read the forwarding of %s: %w", orgID, err)
	}
	return f, nil
}

func asInt(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// putForwarding stores the settings and the positions. A process that is sending at that moment finds a new revision,
// and does not store its outcome.
func putForwarding(ctx context.Context, tx *database.Tx, f *Forwarding) error {
	at := int64(0)
	if !f.Trace.At.IsZero() {
		at = database.Micros(f.Trace.At)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO forwarding (org_id, endpoint, header_names, sealed_headers, send_traces, send_decisions, content, max_age, enabled, disabled_reason,
			created_at, updated_at, revision, trace_position, trace_row, trace_span, decision_position,
			sent_spans, sent_decisions, refused, lost_traces, lost_decisions, attempts, http_status, problem, retry_at, lease_holder, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', $10, $11, $12, $13, $14, $15, $16, 0, 0, 0, 0, 0, 0, 0, '', $17, '', 0)
		ON CONFLICT (org_id) DO UPDATE
		SET endpoint = excluded.endpoint, header_names = excluded.header_names, sealed_headers = excluded.sealed_headers,
			send_traces = excluded.send_traces, send_decisions = excluded.send_decisions, content = excluded.content, max_age = excluded.max_age,
			enabled = excluded.enabled, disabled_reason = '', updated_at = excluded.updated_at, revision = excluded.revision,
			trace_position = excluded.trace_position, trace_row = excluded.trace_row, trace_span = excluded.trace_span,
			decision_position = excluded.decision_position, attempts = 0, retry_at = excluded.retry_at, lease_holder = '', lease_until = 0`,
		f.OrgID, f.Endpoint, strings.Join(f.HeaderNames, ","), f.sealedHeaders, asInt(f.Traces), asInt(f.Decisions),
		string(f.Content), f.MaxAge.Microseconds(), asInt(f.Enabled),
		database.Micros(f.CreatedAt), database.Micros(f.UpdatedAt), f.revision, at, f.Trace.Row, f.Span, f.Decision,
		database.Micros(f.RetryAt))
	if err != nil {
		return fmt.Errorf("store the forwarding of %s: %w", f.OrgID, err)
	}
	return nil
}

// EndAll disables all forwarding after a restore: the endpoints in a backup may have been changed or forbidden since.
func EndAll(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `
		UPDATE forwarding
		SET enabled = 0, disabled_reason = 'the server was restored from a backup', lease_holder = '', lease_until = 0, revision = revision + 1
		WHERE enabled = 1`)
	if err != nil {
		return fmt.Errorf("switch forwarding off: %w", err)
	}
	return nil
}

package webhook

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/notification/notice"
)

// uncounted are the columns that scanWebhook reads, for who need not know how much
// waits: counting it for each delivery would make a long queue slow.
const uncounted = `
	w.id, w.org_id, w.name, w.kind, w.target, w.url, w.secret, w.events, w.send_arguments,
	w.created_at, w.created_by, w.updated_at, w.delivered_at, w.failing_since, w.disabled_at, w.disabled_reason, 0, 0`

// counted are those for people.
const counted = `
	w.id, w.org_id, w.name, w.kind, w.target, w.url, w.secret, w.events, w.send_arguments,
	w.created_at, w.created_by, w.updated_at, w.delivered_at, w.failing_since, w.disabled_at, w.disabled_reason,
	(SELECT COUNT(*) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'waiting'),
	(SELECT COUNT(*) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'dead')`

func scanWebhook(s database.Scanner) (w Webhook, err error) {
	var events string
	var createdAt, updatedAt int64
	var delivered, failing, disabledAt sql.NullInt64
	var sendArguments int
	err = s.Scan(&w.ID, &w.OrgID, &w.Name, &w.Kind, &w.Target, &w.sealedURL, &w.sealedSecret, &events, &sendArguments,
		&createdAt, &w.CreatedBy, &updatedAt, &delivered, &failing, &disabledAt, &w.Disabled, &w.Waiting, &w.Dead)
	w.Events = []notice.Kind{}
	for kind := range strings.SplitSeq(events, ",") {
		w.Events = append(w.Events, notice.Kind(kind))
	}
	w.SendArguments = sendArguments == 1
	w.CreatedAt, w.UpdatedAt = database.Time(createdAt), database.Time(updatedAt)
	w.DeliveredAt, w.FailingSince, w.DisabledAt = database.OptionalTime(delivered), database.OptionalTime(failing),
		database.OptionalTime(disabledAt)
	return w, err
}

func joined(kinds []notice.Kind) string {
	texts := make([]string, len(kinds))
	for i, kind := range kinds {
		texts[i] = string(kind)
	}
	return strings.Join(texts, ",")
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

func countWebhooks(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	if err = r.QueryRow(ctx, `SELECT COUNT(*) FROM webhook WHERE org_id = $1`, orgID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the webhooks of %s: %w", orgID, err)
	}
	return n, nil
}

func selectWebhooks(ctx context.Context, r database.Reader, orgID, columns string) ([]Webhook, error) {
	list, err := database.Collect(ctx, r, scanWebhook, `
		SELECT `+columns+`
		FROM webhook w
		WHERE w.org_id = $1
		ORDER BY w.created_at, w.id`, orgID)
	if err != nil {
		return nil, fmt.Errorf("list the webhooks of %s: %w", orgID, err)
	}
	return list, nil
}

func selectWebhook(ctx context.Context, r database.Reader, orgID, id string) (Webhook, error) {
	if !database.IsID(id) {
		return Webhook{}, noSuchWebhook()
	}
	w, err := scanWebhook(r.QueryRow(ctx, `
		SELECT `+counted+`
		FROM webhook w
		WHERE w.org_id = $1 AND w.id = $2`, orgID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Webhook{}, noSuchWebhook()
	}
	if err != nil {
		return Webhook{}, fmt.Errorf("load webhook %s: %w", id, err)
	}
	return w, nil
}

func insertWebhook(ctx context.Context, tx *database.Tx, w *Webhook) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook (id, org_id, name, kind, target, url, secret, events, send_arguments, created_at, created_by, updated_at,
			disabled_reason, disabled_told, next_number, retry_at, lease_holder, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 1, 1, 0, '', 0)`,
		w.ID, w.OrgID, w.Name, string(w.Kind), w.Target, w.sealedURL, w.sealedSecret, joined(w.Events),
		oneIf(w.SendArguments),
		database.Micros(w.CreatedAt), w.CreatedBy, database.Micros(w.UpdatedAt))
	if err != nil {
		return fmt.Errorf("store a webhook of %s: %w", w.OrgID, err)
	}
	return nil
}

// updateWebhook stores what people change. Who was waiting for a retry need not any
// longer: the change may be what it waited for.
func updateWebhook(ctx context.Context, tx *database.Tx, w *Webhook) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook
		SET name = $3, target = $4, url = $5, secret = $6, events = $7, send_arguments = $8, updated_at = $9,
			failing_since = $10, disabled_at = $11, disabled_reason = $12, retry_at = 0
		WHERE org_id = $1 AND id = $2`,
		w.OrgID, w.ID, w.Name, w.Target, w.sealedURL, w.sealedSecret, joined(w.Events), oneIf(w.SendArguments),
		database.Micros(w.UpdatedAt),
		database.OptionalMicros(w.FailingSince), database.OptionalMicros(w.DisabledAt), w.Disabled)
	if err != nil {
		return fmt.Errorf("change webhook %s: %w", w.ID, err)
	}
	return nil
}

func deleteWebhook(ctx context.Context, tx *database.Tx, orgID, id string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM webhook_delivery WHERE org_id = $1 AND webhook_id = $2`, orgID,
		id); err != nil {
		return fmt.Errorf("delete the deliveries of webhook %s: %w", id, err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM webhook WHERE org_id = $1 AND id = $2`, orgID, id); err != nil {
		return fmt.Errorf("delete webhook %s: %w", id, err)
	}
	return nil
}

// killWaiting makes dead letters of what waits at a target.
func killWaiting(ctx context.Context, tx *database.Tx, webhookID string, now time.Time, problem string) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_delivery
		SET status = 'dead', done_at = $2, problem = $3
		WHERE webhook_id = $1 AND status = 'waiting'`, webhookID, database.Micros(now), problem)
	if err != nil {
		return fmt.Errorf("end what waits at webhook %s: %w", webhookID, err)
	}
	return nil
}

package webhook

import (
	"context"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/notification/notice"
)

const webhookColumns = `
	w.id, w.org_id, w.name, w.kind, w.target, w.url, w.secret, w.events, w.send_arguments,
	w.created_at, w.created_by, w.updated_at, w.delivered_at, w.failing_since, w.disabled_at, w.disabled_reason, `

// columns are those that scanWebhook reads. Only people need columnsWithCounts, whose
// counting would make sending from a long queue slow.
const (
	columns           = webhookColumns + `0, 0`
	columnsWithCounts = webhookColumns + `
	(SELECT COUNT(*) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'waiting'),
	(SELECT COUNT(*) FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'dead')`
)

func scanWebhook(s database.Scanner) (w Webhook, err error) {
	var events string
	err = s.Scan(&w.ID, &w.OrgID, &w.Name, &w.Kind, &w.Target, &w.sealedURL, &w.sealedSecret, &events,
		database.ToBool(&w.SendArguments), database.ToTime(&w.CreatedAt), &w.CreatedBy, database.ToTime(&w.UpdatedAt),
		database.ToOptionalTime(&w.DeliveredAt), database.ToOptionalTime(&w.FailingSince),
		database.ToOptionalTime(&w.DisabledAt), &w.Disabled, &w.Waiting, &w.Dead)
	w.Events = []notice.Kind{}
	for kind := range strings.SplitSeq(events, ",") {
		w.Events = append(w.Events, notice.Kind(kind))
	}
	return w, err
}

func joinKinds(kinds []notice.Kind) string {
	texts := make([]string, len(kinds))
	for i, kind := range kinds {
		texts[i] = string(kind)
	}
	return strings.Join(texts, ",")
}

func countWebhooks(ctx context.Context, r database.Reader, orgID string) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM webhook WHERE org_id = $1`, orgID).Scan(&n)
	return n, database.Wrap(err, "count the webhooks of %s", orgID)
}

func selectWebhooks(ctx context.Context, r database.Reader, orgID, columns string) ([]Webhook, error) {
	list, err := database.Collect(ctx, r, scanWebhook, `
		SELECT `+columns+`
		FROM webhook w
		WHERE w.org_id = $1
		ORDER BY w.created_at, w.id`, orgID)
	return list, database.Wrap(err, "list the webhooks of %s", orgID)
}

func selectWebhook(ctx context.Context, r database.Reader, orgID, id string) (Webhook, error) {
	if !database.IsID(id) {
		return Webhook{}, noSuchWebhook()
	}
	w, err := scanWebhook(r.QueryRow(ctx, `
		SELECT `+columnsWithCounts+`
		FROM webhook w
		WHERE w.org_id = $1 AND w.id = $2`, orgID, id))
	return w, database.OrMissing(err, noSuchWebhook(), "load webhook %s", id)
}

func insertWebhook(ctx context.Context, tx *database.Tx, w *Webhook) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook (id, org_id, name, kind, target, url, secret, events, send_arguments, created_at,
			created_by, updated_at, disabled_reason, disabled_told, next_number, retry_at, lease_holder, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 1, 1, 0, '', 0)`,
		w.ID, w.OrgID, w.Name, string(w.Kind), w.Target, w.sealedURL, w.sealedSecret, joinKinds(w.Events),
		database.Bit(w.SendArguments), database.Micros(w.CreatedAt), w.CreatedBy, database.Micros(w.UpdatedAt))
	return database.Wrap(err, "store a webhook of %s", w.OrgID)
}

// updateWebhook stores the settings that people change. The next try is due at once:
// the change may have fixed the problem.
func updateWebhook(ctx context.Context, tx *database.Tx, w *Webhook) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook
		SET name = $3, target = $4, url = $5, secret = $6, events = $7, send_arguments = $8, updated_at = $9,
			failing_since = $10, disabled_at = $11, disabled_reason = $12, retry_at = 0
		WHERE org_id = $1 AND id = $2`,
		w.OrgID, w.ID, w.Name, w.Target, w.sealedURL, w.sealedSecret, joinKinds(w.Events),
		database.Bit(w.SendArguments), database.Micros(w.UpdatedAt), database.OptionalMicros(w.FailingSince),
		database.OptionalMicros(w.DisabledAt), w.Disabled)
	return database.Wrap(err, "change webhook %s", w.ID)
}

func deleteWebhook(ctx context.Context, tx *database.Tx, orgID, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM webhook_delivery WHERE org_id = $1 AND webhook_id = $2`, orgID, id)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM webhook WHERE org_id = $1 AND id = $2`, orgID, id)
	}
	return database.Wrap(err, "delete webhook %s", id)
}

// killWaiting gives up the waiting deliveries of a target.
func killWaiting(ctx context.Context, tx *database.Tx, webhookID string, now time.Time, problem string) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_delivery
		SET status = 'dead', done_at = $2, problem = $3
		WHERE webhook_id = $1 AND status = 'waiting'`, webhookID, database.Micros(now), problem)
	return database.Wrap(err, "give up the deliveries of webhook %s", webhookID)
}

package decision_test

import (
	"context"
	"testing"

	"writ/internal/database"
	"writ/internal/decision"
)

// Who begins to follow while a transaction runs is told nothing that passes over what
// it recorded before.
func TestFollowingBeginsWithATransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var recent *decision.Recent
		err := w.db.Write(t.Context(), database.Change{Logs: []string{w.acme}, Do: func(ctx context.Context, tx *database.Tx) error {
			first, second := w.least(), w.least()
			if _, err := decision.Append(ctx, tx, key, &first); err != nil {
				return err
			}
			recent = decision.Follow(w.db)
			_, err := decision.Append(ctx, tx, key, &second)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := recent.Take(w.head(), 0, 100); len(got) > 0 && got[0].Index != 0 {
			t.Errorf("the first is passed over: %+v", got)
		}
	})
}

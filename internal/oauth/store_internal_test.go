package oauth

import (
	"context"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// TestUnusedClientsMakeRoom: anyone registers clients, and none of them fills the table.
func TestUnusedClientsMakeRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var ids []string
		err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			ids = nil
			for i := range 5 {
				c := Client{ID: database.NewID(), RedirectURIs: []string{"https://c.example.org/"}}
				c.CreatedAt = tx.Now().Add(time.Duration(i) * time.Second)
				if err := insertClient(ctx, tx, c); err != nil {
					return err
				}
				ids = append(ids, c.ID)
			}
			if _, err := touchClient(ctx, tx, ids[0]); err != nil {
				return err
			}
			return forgetUnused(ctx, tx, 2)
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, false, false, true, true} { // the first is used, the last are the newest
			_, err := findClient(t.Context(), db, ids[i])
			if got := err == nil; got != want || err != nil && !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("client %d is there: %t, %v, want %t", i, got, err, want)
			}
		}
	})
}

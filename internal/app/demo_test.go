package app_test

import (
	"context"
	"testing"

	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/fault"
)

// TestDemoOfAnAccountWithASecondFactor: nobody is there to prove it, so nothing is made that would be closed again.
func TestDemoOfAnAccountWithASecondFactor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		ctx := t.Context()
		ownerID, err := server.Auth.FindID(ctx, server.FirstRun.Email)
		if err != nil {
			t.Fatal(err)
		}
		err = server.Database.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `
				INSERT INTO second_factor (user_id, sealed, org_id, created_at, confirmed_at, last_step, failures, failing_since)
				VALUES ($1, $2, '', 1, 1, 0, 0, 0)`, ownerID, []byte("sealed"))
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.MakeDemo(ctx, o, ownerID); !fault.Is(err, fault.Conflict) {
			t.Errorf("%v, want a conflict", err)
		}
		var made int
		if err := server.Database.QueryRow(ctx, `SELECT COUNT(*) FROM organization WHERE name LIKE '%demo data%'`).
			Scan(&made); err != nil || made != 0 {
			t.Errorf("%d organizations were made, %v", made, err)
		}
	})
}

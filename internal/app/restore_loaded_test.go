package app_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestRestoreLoaded: a PostgreSQL that was put back by other means begins new epochs, and no session comes back.
func TestRestoreLoaded(t *testing.T) {
	t.Parallel()
	o := options(t, dbtest.Postgres(t))
	server := start(t, o)
	in, err := server.public.Login(t.Context(), server.FirstRun.Email, server.FirstRun.Password)
	if err != nil {
		t.Fatal(err)
	}
	epoch := func(of *running) (least int64) {
		t.Helper()
		heads, err := audit.ReadHeads(t.Context(), of.Database)
		if err != nil || len(heads) != 2 {
			t.Fatalf("heads = %v, %v, want 2", heads, err)
		}
		return min(heads[0].Epoch, heads[1].Epoch)
	}
	before := epoch(server)
	server.stop()
	report, err := app.RestoreLoaded(t.Context(), o)
	if err != nil || report.EndedSessions != 1 || len(report.Logs) != 2 {
		t.Errorf("%+v, %v, want a session ended, and an organization's log and the System log continued", report, err)
	}
	again := start(t, o)
	if after := epoch(again); after <= before {
		t.Errorf("the epoch was %d and is %d", before, after)
	}
	if _, err := again.public.Refresh(t.Context(), in.RefreshToken); client.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("the session from before: %v, want 401", err)
	}
	opensTheDoor(t, again, server.FirstRun)
}

func TestRestoreLoadedRefuses(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]app.Options{
		"holds none of Writ: put the backup into it first": options(t, dbtest.EmptyPostgres(t)),
		"--loaded is for PostgreSQL":                       options(t, database.Options{}),
	} {
		if _, err := app.RestoreLoaded(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

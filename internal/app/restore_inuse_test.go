package app_test

import (
	"strings"
	"testing"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/database/dbtest"
)

// TestNoRestoreBesideAServer: whoever restores what a server uses gets a refusal, and nothing changes. Replicas start
// beside each other.
func TestNoRestoreBesideAServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		before := entries(t, server.Database, audit.System)
		refused := func(name string, err error) {
			t.Helper()
			if err == nil || strings.Count(err.Error(), "in use by another writd: stop that one first") != 1 {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
		}
		_, err := app.RestorePresent(t.Context(), o)
		refused("--present", err)
		if o.Config.UsesPostgres() {
			_, err = app.RestoreLoaded(t.Context(), o)
			refused("--loaded", err)
		}
		if after := entries(t, server.Database, audit.System); len(after) != len(before) {
			t.Errorf("the System log has %d entries more", len(after)-len(before))
		}
		opensTheDoor(t, server, server.FirstRun)
		server.stop()
		if _, err := app.RestorePresent(t.Context(), o); err != nil {
			t.Errorf("--present without a server: %v", err)
		}
	})
}

func TestReplicasShareAPostgres(t *testing.T) {
	t.Parallel()
	o := options(t, dbtest.Postgres(t))
	first := start(t, o)
	second := start(t, o)
	first.stop()
	if _, err := app.RestoreLoaded(t.Context(), o); err == nil {
		t.Error("a restore ran beside the second server")
	}
	opensTheDoor(t, second, first.FirstRun)
	second.stop()
	if _, err := app.RestoreLoaded(t.Context(), o); err != nil {
		t.Errorf("restore without a server: %v", err)
	}
}

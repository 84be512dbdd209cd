package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestDatabaseFileGone: what cannot be recorded is not allowed, also where SQLite itself would go on in a file that was
// taken away, or that another one has replaced. With the file in its place the server goes on, and starts again later.
func TestDatabaseFileGone(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	server.obey(server.FirstRun, spendingPolicy)
	key, path := server.FirstRun.APIKey, filepath.Join(o.Config.DataDir, "writ.db")
	allowed := func() bool {
		_, _, answer := server.call(key, "/iap/enforce",
			`{"source":"test","session_id":"s","tool_name":"read","tool_input":{}}`)
		return strings.Contains(answer, `"allowed":true`)
	}
	if !allowed() {
		t.Fatal("a call is denied before")
	}
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, take := range map[string]func(){
		"gone": func() {},
		"replaced": func() {
			dbtest.MigratedSQLite(t, path+".other", database.Main)
			rename(path+".other", path)
		},
	} {
		rename(path, path+".away")
		take()
		if allowed() {
			t.Errorf("%s: a call is allowed", name)
		}
		if _, err := server.public.Ready(t.Context()); client.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("%s: /ready: %v, want 503", name, err)
		}
		rename(path+".away", path)
		if !allowed() {
			t.Errorf("%s: a call is denied with the file in its place", name)
		}
		if _, err := server.public.Ready(t.Context()); err != nil {
			t.Errorf("%s: /ready with the file in its place: %v", name, err)
		}
	}
	server.stop()
	if again := start(t, o); again.FirstRun != nil {
		t.Error("it begins anew")
	}
}

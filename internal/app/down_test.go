package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// call sends a request with the first key.
func (r *running) call(key, path, body string) (status int, header http.Header, answer string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", key)
	response, err := fleeting().Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// obey activates a policy of the first organization.
func (r *running) obey(first *app.FirstRun, policy string) {
	r.t.Helper()
	signedIn, err := r.public.Login(r.t.Context(), first.Email, first.Password)
	if err != nil {
		r.t.Fatal(err)
	}
	owner := &client.Client{BaseURL: r.URL, HTTP: r.public.HTTP, AccessToken: signedIn.AccessToken}
	made, err := owner.CreatePolicy(r.t.Context(), first.OrganizationID, client.YAMLDocument, policy)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := owner.ActivatePolicy(r.t.Context(), made.ID, 0); err != nil {
		r.t.Fatal(err)
	}
}

const spendingPolicy = `
version: v1
name: spending
default: deny
rules:
  - {id: reads, effect: allow, tools: ["*.read"]}
  - {id: cheap, effect: allow, tools: ["*.buy"], when: "session.costUsd < 5.0"}
  - {id: few, effect: allow, tools: ["*.ask"], limit: {tokens: 1000, per: 1h, by: org}}
`

const oneTrace = `{"product":"p","batches":[{"trace":{"id":"0190a0a0-0000-7000-8000-00000000000a","name":"n",` +
	`"startTime":"2026-05-15T12:30:00Z","status":"ok"},"spans":[]}]}`

// decide is whether a call is allowed, in a session.
func (r *running) decide(key, tool string) bool {
	r.t.Helper()
	return r.decideIn(key, "s", tool)
}

// decideIn is decide for any session; empty: the call states none.
func (r *running) decideIn(key, session, tool string) bool {
	r.t.Helper()
	status, _, answer := r.call(key, "/iap/enforce",
		fmt.Sprintf(`{"source":"test","session_id":%q,"tool_name":%q,"tool_input":{}}`, session, tool))
	if status != http.StatusOK {
		r.t.Errorf("%s: %d %s", tool, status, answer)
	}
	return strings.Contains(answer, `"allowed":true`)
}

// wantTelemetry checks what the server does with and without telemetry.
func (r *running) wantTelemetry(key, want string) {
	r.t.Helper()
	ready, err := r.public.Ready(r.t.Context())
	if err != nil || ready.Telemetry != want {
		r.t.Errorf("/ready: %+v, %v; want telemetry %s", ready, err, want)
	}
	isUp := want == "ok"
	for tool, allowed := range map[string]bool{"read": true, "buy": isUp, "ask": isUp} {
		for _, session := range []string{"s", ""} {
			if got := r.decideIn(key, session, tool); got != allowed {
				r.t.Errorf("telemetry %s: %s in session %q is allowed: %t", want, tool, session, got)
			}
		}
	}
	for path, body := range map[string]string{
		"/observability/spans": oneTrace,
		"/v1/traces": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",` +
			`"spanId":"eee19b7ec3c1b174","name":"n","startTimeUnixNano":"1790000000000000000"}]}]}]}`,
		"/dashboard/token-usage": `{"product":"p","sessionId":"0190a0a0-0000-7000-8000-00000000000b","entries":[{"model":"m"}]}`,
	} {
		status, header, answer := r.call(key, path, body)
		if isUp && status/100 != 2 {
			r.t.Errorf("%s: %d %s", path, status, answer)
		}
		if !isUp && (status != http.StatusServiceUnavailable || header.Get("Retry-After") == "") {
			r.t.Errorf("%s: %d, Retry-After %q, %s", path, status, header.Get("Retry-After"), answer)
		}
	}
}

// TestTelemetryDown breaks the telemetry store before a start: enforcement starts all the same.
func TestTelemetryDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		server.obey(first, spendingPolicy)
		server.wantTelemetry(first.APIKey, "ok")
		server.stop()
		mend := breakTelemetry(t, o)
		server = start(t, o)
		server.wantTelemetry(first.APIKey, "down")
		server.stop()
		mend()
		start(t, o).wantTelemetry(first.APIKey, "ok")
	})
}

// TestTelemetryComesBack mends the telemetry store under a server that started without it, beside requests.
func TestTelemetryComesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		server.obey(first, spendingPolicy)
		server.stop()
		mend := breakTelemetry(t, o)
		server = start(t, o)
		server.wantTelemetry(first.APIKey, "down")
		ended, asked := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(asked)
			for {
				select {
				case <-ended:
					return
				default:
					server.call(first.APIKey, "/observability/spans", oneTrace)
				}
			}
		}()
		mend()
		eventually(t, "telemetry is up", func() bool {
			ready, err := server.public.Ready(t.Context())
			return err == nil && ready.Telemetry == "ok"
		})
		close(ended)
		<-asked
		server.wantTelemetry(first.APIKey, "ok")
		eventually(t, "decisions are shown in telemetry", func() bool {
			var spans int
			err := server.TelemetryDB.QueryRow(t.Context(),
				`SELECT COUNT(*) FROM span WHERE name = 'writ.allow'`).Scan(&spans)
			return err == nil && spans > 0
		})
	})
}

// breakTelemetry makes the telemetry store one that cannot be opened.
func breakTelemetry(t *testing.T, o app.Options) (mend func()) {
	t.Helper()
	if !o.Config.UsesPostgres() {
		path := filepath.Join(o.Config.DataDir, "telemetry.db")
		before := read(t, path)
		for _, log := range []string{"-wal", "-shm"} {
			if err := os.Remove(path + log); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		write := func(content string) { // at once: the server tries to open it
			if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		write(strings.Repeat("no database ", 1000))
		return func() { write(before) }
	}
	run := func(statement string) {
		db, err := database.Open(t.Context(), database.Options{PostgresURL: o.Config.DatabaseURL.Reveal()})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, statement)
			return err
		}})
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run(`UPDATE telemetry.schema_migration SET digest = 'x' || digest WHERE version = 1`)
	return func() { run(`UPDATE telemetry.schema_migration SET digest = substr(digest, 2) WHERE version = 1`) }
}

// TestNotReadyOnAFullDisk fills the disk under a running server: it denies every call, and says that it is not ready.
func TestNotReadyOnAFullDisk(t *testing.T) {
	t.Parallel()
	server := start(t, options(t, database.Options{}))
	server.obey(server.FirstRun, spendingPolicy)
	pages := func(n string) {
		err := server.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `PRAGMA max_page_count = `+n)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages("1") // clamps to the present size
	eventually(t, "calls are denied", func() bool { return !server.decide(server.FirstRun.APIKey, "read") })
	if ready, err := server.public.Ready(t.Context()); err == nil {
		t.Errorf("/ready: %+v", ready)
	}
	pages("1000000")
	eventually(t, "the server is ready", func() bool {
		_, err := server.public.Ready(t.Context())
		return err == nil
	})
	if !server.decide(server.FirstRun.APIKey, "read") {
		t.Error("ready, but denies")
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
	}
}

// TestALostDatabaseIsNotAFirstRun removes the database from a data folder.
func TestALostDatabaseIsNotAFirstRun(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(dir string) error{
		"the database is removed": func(dir string) error { return os.Remove(filepath.Join(dir, "writ.db")) },
		"the database is emptied": func(dir string) error { return os.Truncate(filepath.Join(dir, "writ.db"), 0) },
		"only the key is left": func(dir string) error {
			for _, file := range []string{"writ.db", "telemetry.db", "first-run.json"} {
				if err := os.Remove(filepath.Join(dir, file)); err != nil {
					return err
				}
			}
			return nil
		},
		"the key is removed too": func(dir string) error {
			for _, file := range []string{"writ.db", "master.key"} {
				if err := os.Remove(filepath.Join(dir, file)); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, dbtest.SQLite(t))
			start(t, o).stop()
			if err := lose(o.Config.DataDir); err != nil {
				t.Fatal(err)
			}
			refuses(t, o, "so this is not a first run: restore a backup with `writd restore`")
			refuses(t, o, "so this is not a first run") // and leaves nothing that would look like one
		})
	}
}

// TestAnInterruptedFirstStart ends between the making of the key and of the database.
func TestAnInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	if err := os.MkdirAll(o.Config.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := app.MasterKeyIn(o.Config.DataDir); err != nil {
		t.Fatal(err)
	}
	if start(t, o).FirstRun == nil {
		t.Error("it is not a first run")
	}
}

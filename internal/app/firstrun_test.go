package app_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

func TestFirstRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		if first == nil {
			t.Fatal("the first start of an empty database made nothing")
		}
		path := app.FirstRunPath(o.Config)
		kept := read(t, path)
		want := map[string]any{
			"url": server.URL, "email": first.Email, "password": first.Password,
			"organizationId": first.OrganizationID, "apiKey": first.APIKey, "policyId": first.PolicyID,
		}
		var members map[string]any
		if err := json.Unmarshal([]byte(kept), &members); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, members); diff != "" {
			t.Errorf("first-run.json (-want +got):\n%s", diff)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("first-run.json: %v, %v, want mode 0600", info, err)
		}
		opensTheDoor(t, server, first)
		startsWithADraft(t, server, first)

		server.stop()
		again := start(t, o)
		if again.FirstRun != nil {
			t.Error("the second start shows secrets")
		}
		if now := read(t, path); now != kept {
			t.Errorf("the second start rewrote first-run.json:\n%s", cmp.Diff(kept, now))
		}
		opensTheDoor(t, again, first)
	})
}

// opensTheDoor checks that the first secrets are those of an owner.
func opensTheDoor(t *testing.T, server *running, first *app.FirstRun) {
	t.Helper()
	in, err := server.public.Login(t.Context(), first.Email, first.Password)
	if err != nil {
		t.Fatalf("sign in: %v", err)
	}
	if len(in.Organizations) != 1 || in.Organizations[0].ID != first.OrganizationID ||
		in.Organizations[0].Role != "owner" {
		t.Errorf("organizations = %+v, want to own %s", in.Organizations, first.OrganizationID)
	}
	key, err := server.public.WithKey(first.APIKey).CurrentKey(t.Context())
	if err != nil || key.OrganizationID == nil || *key.OrganizationID != first.OrganizationID {
		t.Errorf("key = %+v, %v, want one of %s", key, err, first.OrganizationID)
	}
}

// startsWithADraft checks that nothing is allowed until the owner activates the
// policy that the first run made.
func startsWithADraft(t *testing.T, server *running, first *app.FirstRun) {
	t.Helper()
	in, err := server.public.Login(t.Context(), first.Email, first.Password)
	if err != nil {
		t.Fatalf("sign in: %v", err)
	}
	owner, agent := server.public.As(in.AccessToken), server.public.WithKey(first.APIKey)
	starter, err := owner.Policy(t.Context(), first.PolicyID)
	if err != nil || starter.Name != "starter" || starter.Status != "draft" || starter.Author.Kind != "system" {
		t.Errorf("the first policy is %+v, %v, want a draft named starter", starter.PolicyState, err)
	}
	call := client.ToolCall{Server: "local", Tool: "anything"}
	before, err := agent.CheckAccess(t.Context(), "", call)
	if err != nil || before.Allowed || !strings.Contains(before.Reason, "no active policy") {
		t.Errorf("before an activation: %+v, %v", before, err)
	}
	if _, err := agent.ActivatePolicy(t.Context(), first.PolicyID, 0); client.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("the first key activates a policy: %v", err)
	}
	if _, err := owner.ActivatePolicy(t.Context(), first.PolicyID, 0); err != nil {
		t.Errorf("activate: %v", err)
	}
	after, err := agent.CheckAccess(t.Context(), "", call)
	if err != nil || after.MatchedPolicy == nil || after.MatchedPolicy.ID != first.PolicyID {
		t.Errorf("after the activation: %+v, %v, want that the starter decides", after, err)
	}
}

func TestProductionMakesNoFirstAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		empty, err := server.Auth.Empty(t.Context(), server.Database)
		if err != nil || !empty || server.FirstRun != nil {
			t.Errorf("empty = %v (%v), first run = %v, want nobody there", empty, err, server.FirstRun)
		}
		if exists(app.FirstRunPath(o.Config)) {
			t.Error("there is a first-run.json")
		}
	}, "WRIT_ENV", "production", "WRIT_LISTEN", "127.0.0.1", "WRIT_PUBLIC_URL", "https://writ.example.com",
		"WRIT_MASTER_KEY", masterKey)
}

// TestReplicasMakeOneFirstRun starts replicas, each with a folder of its own, at
// once on a database that has not even tables.
func TestReplicasMakeOneFirstRun(t *testing.T) {
	t.Parallel()
	db := dbtest.EmptyPostgres(t)
	servers := make([]*running, 3)
	var wg sync.WaitGroup
	for i := range servers {
		o := options(t, db)
		wg.Go(func() {
			server, err := app.Start(t.Context(), o)
			if err != nil {
				t.Errorf("replica %d: %v", i, err)
				return
			}
			servers[i] = &running{Server: server, t: t}
			if kept := exists(app.FirstRunPath(o.Config)); kept != (server.FirstRun != nil) {
				t.Errorf("replica %d has a file: %v, a first run: %v", i, kept, server.FirstRun != nil)
			}
		})
	}
	wg.Wait()
	var first []*app.FirstRun
	for _, server := range servers {
		if server == nil {
			continue
		}
		t.Cleanup(server.stop)
		if server.FirstRun != nil {
			first = append(first, server.FirstRun)
		}
	}
	if t.Failed() || len(first) != 1 {
		t.Fatalf("%d first runs, want 1", len(first))
	}
	var users, organizations int
	err := servers[0].Database.QueryRow(t.Context(),
		`SELECT (SELECT count(*) FROM user_account), (SELECT count(*) FROM organization)`).
		Scan(&users, &organizations)
	if err != nil || users != 1 || organizations != 1 {
		t.Errorf("%d users and %d organizations (%v), want one of each", users, organizations, err)
	}
}

// TestFailedFirstRunLeavesNothing has the commit fail after the file was written.
func TestFailedFirstRunLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		o := options(t, database.Options{}, "WRIT_MASTER_KEY", masterKey)
		path := filepath.Join(o.Config.DataDir, "writ.db")
		if err := os.MkdirAll(o.Config.DataDir, 0o700); err != nil {
			t.Fatal(err)
		}
		migrate(t, database.Options{SQLitePath: path})
		// The heads of logs are written last, right before the commit.
		failFirstRun(t, o, "sqlite", path,
			`CREATE TRIGGER no BEFORE UPDATE ON audit_head WHEN NEW.log <> 'system' BEGIN SELECT RAISE(ABORT, 'not today'); END`,
			`DROP TRIGGER no`)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.Postgres(t)
		failFirstRun(t, options(t, db), "pgx", db.PostgresURL, `
			CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$;
			CREATE CONSTRAINT TRIGGER no AFTER INSERT ON organization DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION no()`,
			`DROP TRIGGER no ON organization`)
	})
}

func failFirstRun(t *testing.T, o app.Options, driver, source, sabotage, repair string) {
	t.Helper()
	execute(t, driver, source, sabotage)
	refuses(t, o, "not today")
	names, err := filepath.Glob(filepath.Join(o.Config.DataDir, "first-run*"))
	if err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	execute(t, driver, source, repair)
	server := start(t, o)
	if server.FirstRun == nil {
		t.Fatal("the next start made no first account")
	}
	opensTheDoor(t, server, server.FirstRun)
}

func migrate(t *testing.T, o database.Options) {
	t.Helper()
	db, err := database.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, driver, source, statement string) {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", strings.Fields(statement)[0], err)
	}
}

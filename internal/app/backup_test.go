package app_test

import (
	"context"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/principal"
	"writ/internal/secret"
)

// note appends an entry about a subject to a log.
func note(ctx context.Context, server *running, log, subject string) error {
	return server.Database.Write(ctx, database.Change{Logs: []string{log}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return noteIn(ctx, tx, server, log, subject)
	}})
}

func noteIn(ctx context.Context, tx *database.Tx, server *running, log, subject string) error {
	_, err := server.Audit.Append(ctx, tx, audit.Entry{
		Log: log, Action: "test.noted", Actor: principal.Operator(),
		Subject: audit.Subject{Type: "note", ID: subject},
	})
	return err
}

// begin begins a log with an entry, as that of an organization begins.
func begin(t *testing.T, server *running, log string) {
	t.Helper()
	err := server.Database.Write(t.Context(), database.Change{Logs: []string{log, audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := server.Audit.Begin(ctx, tx, principal.Operator(), log); err != nil {
			return err
		}
		return noteIn(ctx, tx, server, log, "first")
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, db *database.DB, log string) []audit.Stored {
	t.Helper()
	stored, err := audit.ReadEntries(t.Context(), db, log, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range stored {
		if e.Index != int64(i) {
			t.Fatalf("log %s: entry %d has index %d", log, i, e.Index)
		}
	}
	head, err := audit.ReadHead(t.Context(), db, log)
	if err != nil || head.Size != int64(len(stored)) {
		t.Fatalf("log %s: %d entries, the head says %d (%v)", log, len(stored), head.Size, err)
	}
	return stored
}

func backup(t *testing.T, o app.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup")
	if err := app.Backup(t.Context(), o, path); err != nil {
		t.Fatalf("backup: %v", err)
	}
	return path
}

func restore(t *testing.T, o app.Options, path string) app.Restored {
	t.Helper()
	report, err := app.Restore(t.Context(), o, path)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	return report
}

// elsewhere are the options of a server on another, empty machine that was given
// the master key.
func elsewhere(t *testing.T, o app.Options) app.Options {
	t.Helper()
	if o.Config.UsesPostgres() {
		return options(t, dbtest.EmptyPostgres(t))
	}
	key := strings.TrimSpace(read(t, filepath.Join(o.Config.DataDir, "master.key")))
	return options(t, database.Options{}, "WRIT_MASTER_KEY", key)
}

func TestBackupWhileTheServerWrites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		log := server.FirstRun.OrganizationID
		ctx, cease := context.WithCancel(t.Context())
		defer cease()
		noted := make(chan string)
		go func() {
			defer close(noted)
			for ctx.Err() == nil {
				id := database.NewID()
				if err := note(context.WithoutCancel(ctx), server, log, id); err != nil {
					t.Errorf("write beside the backup: %v", err)
					return
				}
				select {
				case noted <- id:
				case <-ctx.Done():
				}
			}
		}()
		acknowledged := []string{<-noted, <-noted}
		path := filepath.Join(t.TempDir(), "backup")
		done := make(chan error, 1)
		go func() { done <- app.Backup(ctx, o, path) }()
		for waiting := true; waiting; {
			select {
			case <-noted:
			case err := <-done:
				if err != nil {
					t.Fatalf("backup: %v", err)
				}
				waiting = false
			}
		}
		<-noted // writing goes on
		cease()
		for range noted {
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("backup: %v, %v, want mode 0600", info, err)
		}

		other := elsewhere(t, o)
		report := restore(t, other, path)
		again := start(t, other)
		if again.FirstRun != nil {
			t.Error("the restored database was taken for an empty one")
		}
		opensTheDoor(t, again, server.FirstRun)
		stored := entries(t, again.Database, log)
		for _, id := range acknowledged {
			if !slices.ContainsFunc(stored, func(e audit.Stored) bool { return strings.Contains(e.Record, id) }) {
				t.Errorf("%s was acknowledged before the backup and is not in it", id)
			}
		}
		checkRestored(t, again.Database, log, audit.Lost{From: int64(len(stored)) - 1})
		if report.Replaced != "" || report.Logs[log].Known {
			t.Errorf("report = %+v, want nothing replaced and nothing known", report)
		}
	})
}

// checkRestored checks that a log goes on in a new epoch, and that the last entry
// says so and what is gone.
func checkRestored(t *testing.T, db *database.DB, log string, want audit.Lost) {
	t.Helper()
	stored := slices.DeleteFunc(entries(t, db, log), func(e audit.Stored) bool { return e.Action == "logs.anchored" })
	head, err := audit.ReadHead(t.Context(), db, log)
	if err != nil || head.Epoch == 0 {
		t.Errorf("log %s: epoch %d (%v), want a new one", log, head.Epoch, err)
	}
	last := stored[len(stored)-1]
	if last.Action != "log.restored" || last.Payload != lostText(want) {
		t.Errorf("log %s ends with %s %s, want log.restored %s", log, last.Action, last.Payload, lostText(want))
	}
}

// TestRestoreSaysWhatIsGone restores over a database that went on, and again
// over ones that were restored themselves.
func TestRestoreSaysWhatIsGone(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	first := server.FirstRun
	size := map[string]int64{}
	for _, log := range []string{audit.System, first.OrganizationID} {
		size[log] = int64(len(entries(t, server.Database, log)))
	}
	saved := backup(t, o)
	for range 3 {
		if err := note(t.Context(), server, first.OrganizationID, "later"); err != nil {
			t.Fatal(err)
		}
	}
	const young = "only-the-replaced-database-has-it"
	begin(t, server, young)
	if err := note(t.Context(), server, young, "x"); err != nil {
		t.Fatal(err)
	}
	server.stop() // anchors what changed

	want := map[string]audit.Lost{
		audit.System:         {Known: true, Entries: 2, From: size[audit.System]},
		first.OrganizationID: {Known: true, Entries: 3, From: size[first.OrganizationID]},
		young:                {Known: true, Entries: 2},
	}
	report := restore(t, o, saved)
	if diff := cmp.Diff(want, report.Logs); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	again := start(t, o)
	for log, lost := range want {
		checkRestored(t, again.Database, log, lost)
	}
	opensTheDoor(t, again, first)
	if n := len(entries(t, again.Database, young)); n != 1 {
		t.Errorf("the log begun anew has %d entries, want 1", n)
	}
	again.stop()

	// The backup knows of no epoch; the database it replaces has been through one.
	epoch := checkEpochs(t, o, 0)
	restore(t, o, saved)
	epoch = checkEpochs(t, o, epoch)
	second := backup(t, o)
	restore(t, o, saved)
	epoch = checkEpochs(t, o, epoch)
	restore(t, o, second)
	checkEpochs(t, o, epoch)
	aside, err := filepath.Glob(filepath.Join(o.Config.DataDir, "writ.db.replaced-*"))
	if err != nil || len(aside) != 4 {
		t.Errorf("kept aside: %v (%v), want 4 databases", aside, err)
	}
	kept := dbtest.Open(t, database.Options{SQLitePath: report.Replaced})
	if n := len(entries(t, kept, young)); n != 2 {
		t.Errorf("the replaced database has %d entries in its own log, want 2", n)
	}
}

// checkEpochs checks that every log is in an epoch beyond the one before, and
// gives it.
func checkEpochs(t *testing.T, o app.Options, before int64) (epoch int64) {
	t.Helper()
	server := start(t, o)
	defer server.stop()
	heads, err := audit.ReadHeads(t.Context(), server.Database)
	if err != nil || len(heads) != 3 {
		t.Fatalf("heads = %v, %v, want 3", heads, err)
	}
	for _, head := range heads {
		if head.Epoch <= before {
			t.Errorf("log %s: epoch %d, want more than %d", head.Log, head.Epoch, before)
		}
		epoch = max(epoch, head.Epoch)
	}
	return epoch
}

func TestRestoreNeedsTheMasterKeyOfTheBackup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		saved := backup(t, o)
		server.stop()
		other := elsewhere(t, o)
		other.Config.MasterKey = secret.NewText(otherKey)
		_, err := app.Restore(t.Context(), other, saved)
		if err == nil || !strings.Contains(err.Error(), "the master key is not the one this database was sealed with") {
			t.Errorf("restore: %v, want a word on the master key", err)
		}
		// Nothing was loaded, which a server would take as it is: PostgreSQL is restored only where it is empty.
		other.Config.MasterKey = o.Config.MasterKey
		if !o.Config.UsesPostgres() {
			key := read(t, filepath.Join(o.Config.DataDir, "master.key"))
			other.Config.MasterKey = secret.NewText(strings.TrimSpace(key))
		}
		restore(t, other, saved)
		opensTheDoor(t, start(t, other), server.FirstRun)
	})
}

// TestAFailedRestoreNamesTheRest: whatever else fails when the data is there, no server takes it, and one command does
// the rest.
func TestAFailedRestoreNamesTheRest(t *testing.T) {
	t.Parallel()
	o := options(t, dbtest.Postgres(t))
	server := start(t, o)
	server.stop()
	execute(t, "pgx", o.Config.DatabaseURL.Reveal(), `ALTER TABLE audit_head RENAME COLUMN epoch TO other`)
	saved := backup(t, o)
	loaded := elsewhere(t, o)
	_, err := app.Restore(t.Context(), loaded, saved)
	if err == nil || !strings.Contains(err.Error(), "writd restore --loaded before a server starts") {
		t.Errorf("restore: %v, want the command that does the rest", err)
	}
	execute(t, "pgx", loaded.Config.DatabaseURL.Reveal(), `ALTER TABLE audit_head RENAME COLUMN other TO epoch`)
	refuses(t, loaded, "the restore did not end: run writd restore --loaded")
	if _, err := app.RestoreLoaded(t.Context(), loaded); err != nil {
		t.Fatalf("the rest of the restore: %v", err)
	}
	opensTheDoor(t, start(t, loaded), server.FirstRun)
}

func TestRestoreRefusesARunningServer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		saved := backup(t, o)
		because := "in use by another writd"
		if o.Config.UsesPostgres() {
			because = "the PostgreSQL database is not empty"
		}
		if _, err := app.Restore(t.Context(), o, saved); err == nil || !strings.Contains(err.Error(), because) {
			t.Errorf("err = %v, want one that says %q", err, because)
		}
		opensTheDoor(t, server, server.FirstRun)
	})
}

func TestRestoreIntoAFilledPostgres(t *testing.T) {
	t.Parallel()
	o := options(t, dbtest.Postgres(t))
	start(t, o).stop()
	saved := backup(t, o)
	filled := options(t, dbtest.Postgres(t)) // our tables, and nothing in them
	if _, err := app.Restore(t.Context(), filled, saved); err == nil ||
		!strings.Contains(err.Error(), "is not empty: restore into a new one; or, ") ||
		!strings.Contains(err.Error(), "go on with writd restore --loaded") {
		t.Errorf("err = %v, want a refusal that names the way on", err)
	}
}

// TestRestoreOverANewerDatabase is the way back from an upgrade.
func TestRestoreOverANewerDatabase(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	saved := backup(t, o)
	if err := note(t.Context(), server, server.FirstRun.OrganizationID, "after the upgrade"); err != nil {
		t.Fatal(err)
	}
	server.stop()
	execute(t, "sqlite", filepath.Join(o.Config.DataDir, "writ.db"),
		`INSERT INTO schema_migration (version, name, digest, applied_at) VALUES (9999, 'of_the_future', '', 0)`)
	refuses(t, o, "it was used by a newer Writ: start that one, or restore a backup from before the upgrade")
	if lost := restore(t, o, saved).Logs[server.FirstRun.OrganizationID]; !lost.Known || lost.Entries != 1 {
		t.Errorf("lost = %+v, want one entry", lost)
	}
	opensTheDoor(t, start(t, o), server.FirstRun)
}

// TestRestoreRevivesNobody: what the kill switch stopped after the backup is stopped again, and the log says so.
func TestRestoreRevivesNobody(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	org := server.FirstRun.OrganizationID
	signIn := func(s *running) *client.Client {
		t.Helper()
		in, err := s.public.Login(t.Context(), server.FirstRun.Email, server.FirstRun.Password)
		if err != nil {
			t.Fatal(err)
		}
		return s.public.As(in.AccessToken)
	}
	owner := signIn(server)
	key, err := owner.CreateKey(t.Context(), client.NewKey{Name: "bot", OrganizationID: org})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"bot", "fine", "lifted"} {
		if _, err := owner.RegisterAgent(t.Context(), org, client.NewAgent{
			AgentID: id, Keys: []string{key.ID},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := owner.RegisterAgent(t.Context(), org, client.NewAgent{AgentID: "paused"}); err != nil {
		t.Fatal(err)
	}
	saved := backup(t, o)
	if _, err := owner.SetAgentStatus(t.Context(), org, "paused", "suspended", "odd calls"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"bot", "lifted"} {
		if _, err := owner.KillAgent(t.Context(), org, id, "odd calls"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := owner.ReviveAgent(t.Context(), org, "lifted", "explained"); err != nil {
		t.Fatal(err)
	}
	server.stop()
	if report := restore(t, o, saved); report.StoppedAgain != 1 || report.SuspendedAgain != 1 {
		t.Errorf("report = %+v, want one stop and one suspension again", report)
	}
	again := start(t, o)
	owner = signIn(again)
	paused, err := owner.Agent(t.Context(), org, "paused")
	if err != nil || paused.Status != "suspended" || paused.SuspendedFor != "odd calls" {
		t.Errorf("%+v, %v", paused, err)
	}
	stops, err := owner.Stops(t.Context(), org)
	if err != nil || len(stops) != 1 || stops[0].Subject != "bot" || stops[0].Keys[0] != key.ID ||
		stops[0].Reason != "odd calls" {
		t.Fatalf("%+v, %v", stops, err)
	}
	entries, err := owner.LogEntries(t.Context(), org, client.LogFilter{Action: "agent.killed"})
	if err != nil || len(entries.Items) != 1 || entries.Items[0].Index != stops[0].Index {
		t.Errorf("%+v, %v", entries.Items, err)
	}
	if status, err := again.public.WithKey(key.APIKey).AgentStatus(t.Context(), "", "bot"); err != nil ||
		status != "killed" {
		t.Errorf("%q, %v", status, err)
	}
}

// TestRestoreOverHalfAnUpgrade: the stops of a database between two versions cannot be read whole, and none may be
// forgotten: nothing is restored over it. A database from before the kill switch has none.
func TestRestoreOverHalfAnUpgrade(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	saved := backup(t, o)
	server.stop()
	path := filepath.Join(o.Config.DataDir, "writ.db")
	for _, statement := range []string{
		`DROP INDEX agent_stop_by_parent`, `ALTER TABLE agent_stop DROP COLUMN parent_id`,
	} {
		execute(t, "sqlite", path, statement)
	}
	if _, err := app.Restore(t.Context(), o, saved); err == nil ||
		!strings.Contains(err.Error(), "start the server once, and restore then") {
		t.Errorf("err = %v, want a refusal that says what to do", err)
	}
	if replaced, err := filepath.Glob(path + ".replaced-*"); err != nil || len(replaced) != 0 {
		t.Errorf("the present database was set aside: %v, %v", replaced, err)
	}
	for _, table := range []string{"agent_stop_key", "agent_stop"} {
		execute(t, "sqlite", path, `DROP TABLE `+table)
	}
	if report := restore(t, o, saved); report.StoppedAgain != 0 {
		t.Errorf("report = %+v", report)
	}
	opensTheDoor(t, start(t, o), server.FirstRun)
}

// TestRestoreEndsWhatMayHaveEnded: a session, a plan and a key that ended after
// the backup must not come back with it.
func TestRestoreEndsWhatMayHaveEnded(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	anyone := server.public
	in, err := anyone.Login(t.Context(), server.FirstRun.Email, server.FirstRun.Password)
	if err != nil {
		t.Fatal(err)
	}
	key, err := anyone.As(in.AccessToken).CreateKey(t.Context(), client.NewKey{Name: "short-lived"})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, "sqlite", filepath.Join(o.Config.DataDir, "writ.db"), `
		INSERT INTO plan (id, org_id, key_id, owner_id, user_id, email, agent_id, context_id, session_id, status, goal, source, steps,
			anchor, signature, signature_hash, jwt_hash, issued_at, expires_at, created_at)
		SELECT 'p', '`+server.FirstRun.OrganizationID+
		`', id, '', '', '', '', '', '', 'active', '', '', 0, 1, '', '', '', 1, 9000000000000000, 1
		FROM api_key
		LIMIT 1`)
	connect(t, o, anyone.As(in.AccessToken), server.FirstRun.OrganizationID)
	saved := backup(t, o)
	if err := anyone.As(in.AccessToken).RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	server.stop()
	report := restore(t, o, saved)
	if report.EndedSessions != 1 || report.EndedPlans != 1 || report.KeysRevokedAgain != 1 {
		t.Errorf("report = %+v, want a session and a plan ended and one key revoked again", report)
	}
	if left := connections(t, o); left != 0 {
		t.Errorf("%d connections and beginnings of them are back", left)
	}
	again := start(t, o)
	anyone = again.public
	if _, err := anyone.Refresh(t.Context(), in.RefreshToken); client.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("the session from before: %v, want 401", err)
	}
	if _, err := anyone.WithKey(key.APIKey).CurrentKey(t.Context()); client.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("the key that was revoked: %v, want 401", err)
	}
	opensTheDoor(t, again, server.FirstRun)
}

// connect stores that a person is connected to a server, and that they begin to be.
func connect(t *testing.T, o app.Options, owner *client.Client, org string) {
	t.Helper()
	made, err := owner.RegisterMCPServer(t.Context(), org, client.NewMCPServer{Name: "harbour"})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, "sqlite", filepath.Join(o.Config.DataDir, "writ.db"), `
		INSERT INTO mcp_connection (id, org_id, user_id, server_id, url, resource, issuer, token_url, revocation_url,
			client_id, client_method, scope, sealed, refreshing_until, revision, created_at)
		SELECT 'c', '`+org+`', id, '`+made.MCPID+`', '', '', '', '', '', '', 'none', '', x'00', 0, 1, 1
		FROM user_account
		LIMIT 1;
		INSERT INTO mcp_connecting (state_hash, org_id, user_id, server_id, url, resource, issuer, names_issuer, token_url,
			revocation_url, client_id, client_method, scope, sealed, expires_at)
		SELECT x'00', '`+org+`', id, '`+made.MCPID+`', '', '', '', 0, '', '', '', 'none', '', x'00', 9000000000000000
		FROM user_account
		LIMIT 1`)
	if n := connections(t, o); n != 2 {
		t.Fatalf("%d connections are stored", n)
	}
}

func connections(t *testing.T, o app.Options) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(o.Config.DataDir, "writ.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRowContext(t.Context(), `
		SELECT (SELECT COUNT(*) FROM mcp_connection) + (SELECT COUNT(*) FROM mcp_connecting)`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package app_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
)

const newPassword = "a new and long passphrase 77"

// change runs statements in the database of a server; $1 is its organization.
func change(t *testing.T, server *running, statements ...string) {
	t.Helper()
	err := server.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			var args []any
			if strings.Contains(statement, "$1") {
				args = []any{server.FirstRun.OrganizationID}
			}
			if _, err := tx.Exec(ctx, statement, args...); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// person makes a member with the password of the first one. Ids have the form of a UUID, which sorts by name.
func person(t *testing.T, server *running, name, role string) (id string) {
	t.Helper()
	id = database.NewID()
	change(t, server, `
		INSERT INTO user_account (id, email, name, password_hash, verified_at, created_at)
		SELECT '`+id+`', '`+name+`@example.org', '`+name+`', password_hash, verified_at, created_at
		FROM user_account
		ORDER BY created_at, id
		LIMIT 1`)
	if role != "" {
		change(t, server, `
			INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, '`+id+`', '`+role+`', 1)`)
	}
	return id
}

func signInAs(t *testing.T, server *running, email, password string) (*client.Client, error) {
	t.Helper()
	in, err := server.public.Login(t.Context(), email, password)
	if err != nil {
		return nil, err
	}
	return server.public.As(in.AccessToken), nil
}

// number reads one number from the database of a server.
func number(t *testing.T, server *running, query string, args ...any) (n int) {
	t.Helper()
	if err := server.Database.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// restoreOver restores a backup over the database of a server, which it stops.
func restoreOver(t *testing.T, o app.Options, server *running, saved string) (*running, app.Restored) {
	t.Helper()
	if !o.Config.UsesPostgres() {
		server.stop()
		report := restore(t, o, saved)
		again := start(t, o)
		again.FirstRun = server.FirstRun
		return again, report
	}
	other := elsewhere(t, o)
	report, err := app.RestoreOver(t.Context(), other, saved, server.Database)
	if err != nil {
		t.Fatal(err)
	}
	server.stop()
	again := start(t, other)
	again.FirstRun = server.FirstRun
	return again, report
}

// wantEntry checks that the log of the organization, or that of the system, tells once that the restore did it.
func wantEntry(t *testing.T, server *running, log, action, subject string) {
	t.Helper()
	if n := number(t, server, `
		SELECT COUNT(*) FROM audit_entry
		WHERE log = $1 AND action = $2 AND subject = $3 AND position > (
			SELECT MAX(position) FROM audit_entry WHERE log = $1 AND action = 'log.restored')`, log, action, subject); n != 1 {
		t.Errorf("%d entries %s of %s since the restore in log %s, want 1", n, action, subject, log)
	}
}

// TestRestoreTakesFromPeopleAgain: who was removed, demoted, deleted, or kept out by a new password, address, second
// factor or by the end of a link since the backup stays so.
func TestRestoreTakesFromPeopleAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		org := first.OrganizationID
		removed, demoted := person(t, server, "removed", "admin"), person(t, server, "demoted", "admin")
		promoted, gone := person(t, server, "promoted", "viewer"), person(t, server, "gone", "member")
		ada, bea := person(t, server, "ada", "member"), person(t, server, "bea", "")
		guarded := person(t, server, "guarded", "")
		change(t, server, `
			INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at)
			VALUES ('linked-by-a-thief', '', 'https://accounts.example', 's', '`+ada+`', 'x@example.org', 1, 1)`)
		owner, err := signInAs(t, server, first.Email, first.Password)
		if err != nil {
			t.Fatal(err)
		}
		saved := backup(t, o)

		if err := owner.RemoveMember(t.Context(), org, removed); err != nil {
			t.Fatal(err)
		}
		for id, role := range map[string]string{demoted: "viewer", promoted: "admin"} {
			if _, err := owner.ChangeRole(t.Context(), org, id, role); err != nil {
				t.Fatal(err)
			}
		}
		if err := owner.ChangePassword(t.Context(), first.Password, newPassword); err != nil {
			t.Fatal(err)
		}
		change(t, server,
			`DELETE FROM organization_member WHERE user_id = '`+gone+`'`,
			`UPDATE user_account SET deleted_at = 1, email = 'deleted:`+gone+`', password_hash = ''
			WHERE id = '`+gone+`'`,
			`DELETE FROM external_identity`,
			`UPDATE user_account SET email = 'between' WHERE id = '`+ada+`'`, // ada and bea exchange their addresses
			`UPDATE user_account SET email = 'ada@example.org' WHERE id = '`+bea+`'`,
			`UPDATE user_account SET email = 'bea@example.org' WHERE id = '`+ada+`'`,
			`INSERT INTO second_factor (user_id, sealed, org_id, created_at, confirmed_at, last_step, failures,
				failing_since)
			SELECT id, `+someBytes(o)+`, '', 1, 1, 7, 0, 0
			FROM user_account
			WHERE id = '`+guarded+`'`,
			`INSERT INTO recovery_code (hash, user_id, used_at)
			SELECT `+someBytes(o)+`, user_id, 1 FROM second_factor`)

		again, report := restoreOver(t, o, server, saved)
		if report.MembersRemovedAgain != 2 || report.RolesLoweredAgain != 1 || report.AccountsDeletedAgain != 1 ||
			report.AccountsCarriedOver != 4 || report.KeptOwners != nil {
			t.Errorf("report = %+v", report.TakenAgain)
		}
		if _, err := signInAs(t, again, first.Email, first.Password); client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("the old password: %v, want 401", err)
		}
		if owner, err = signInAs(t, again, first.Email, newPassword); err != nil {
			t.Fatalf("the new password: %v", err)
		}
		back, err := signInAs(t, again, "removed@example.org", first.Password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := back.Members(t.Context(), org, client.List{}); client.StatusOf(err) != http.StatusForbidden {
			t.Errorf("a removed admin reads the members: %v, want 403", err)
		}
		members, err := owner.Members(t.Context(), org, client.List{})
		if err != nil {
			t.Fatal(err)
		}
		roles := map[string]string{}
		for _, m := range members.Items {
			roles[m.UserID] = m.Role
		}
		if len(roles) != 4 || roles[demoted] != "viewer" || roles[promoted] != "viewer" || roles[ada] != "member" {
			t.Errorf("roles = %v", roles)
		}
		for what, query := range map[string]string{
			"the deleted account": `SELECT COUNT(*) FROM user_account
				WHERE id = '` + gone + `' AND deleted_at IS NOT NULL AND email = 'deleted:` + gone + `' AND password_hash = ''`,
			"ada's address": `SELECT COUNT(*) FROM user_account WHERE id = '` + ada + `' AND email = 'bea@example.org'`,
			"bea's address": `SELECT COUNT(*) FROM user_account WHERE id = '` + bea + `' AND email = 'ada@example.org'`,
			"the second factor": `SELECT COUNT(*) FROM second_factor f JOIN recovery_code c ON c.user_id = f.user_id
				WHERE f.user_id = '` + guarded + `' AND f.confirmed_at = 1 AND f.last_step = 7 AND c.used_at = 1`,
			"no identity": `SELECT 1 - COUNT(*) FROM external_identity`,
		} {
			if number(t, again, query) != 1 {
				t.Errorf("%s is not as it was before the restore", what)
			}
		}
		wantEntry(t, again, org, "member.removed", "member/"+removed)
		wantEntry(t, again, org, "member.role_changed", "member/"+demoted)
		for action, id := range map[string]string{
			"user.deleted": gone, "second_factor.added": guarded, "identity.unlinked": ada, "email.changed": bea,
		} {
			wantEntry(t, again, "system", action, "user/"+id)
		}
	})
}

// someBytes is a literal of a column of bytes.
func someBytes(o app.Options) string {
	if o.Config.UsesPostgres() {
		return `'\x0102'::bytea`
	}
	return `x'0102'`
}

// TestRestoreKeepsAnOwner: no organization is left without an owner; the report names who would be one no more. A
// closed one is closed again.
func TestRestoreKeepsAnOwner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		org := server.FirstRun.OrganizationID
		heir := person(t, server, "heir", "member")
		stays, leaves := database.NewID(), database.NewID()
		for _, id := range []string{stays, leaves} {
			change(t, server, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ('`+id+`', 'Closed', 1, 1)`)
			begin(t, server, id)
			change(t, server, `INSERT INTO organization_member (org_id, user_id, role, joined_at)
				VALUES ('`+id+`', '`+heir+`', 'owner', 1)`)
		}
		saved := backup(t, o)
		change(t, server,
			`UPDATE organization_member SET role = 'owner' WHERE org_id = $1 AND user_id = '`+heir+`'`,
			`DELETE FROM organization_member WHERE org_id = $1 AND user_id <> '`+heir+`'`,
			`UPDATE organization SET closed_at = 5 WHERE id = '`+leaves+`'`)
		again, report := restoreOver(t, o, server, saved)
		if len(report.KeptOwners) != 1 || report.KeptOwners[0].Email != server.FirstRun.Email ||
			report.KeptOwners[0].OrganizationID != org || report.ClosedAgain != 1 || report.MembersRemovedAgain != 0 {
			t.Errorf("report = %+v", report.TakenAgain)
		}
		if n := number(t, again, `SELECT COUNT(*) FROM organization_member WHERE org_id = $1 AND role = 'owner'`, org); n != 1 {
			t.Errorf("%d owners, want the one of the backup", n)
		}
		if n := number(t, again, `SELECT COUNT(*) FROM organization WHERE closed_at IS NOT NULL AND id = $1`, leaves); n != 1 {
			t.Error("the closed organization is open again")
		}
		wantEntry(t, again, leaves, "organization.closed", "organization/"+leaves)
	})
}

// TestRestoreTakesFromAgentsAndServersAgain: keys that were taken from agents, and MCP servers and identity providers
// that were refused since the backup, stay so.
func TestRestoreTakesFromAgentsAndServersAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		org := server.FirstRun.OrganizationID
		owner, err := signInAs(t, server, server.FirstRun.Email, server.FirstRun.Password)
		if err != nil {
			t.Fatal(err)
		}
		keys := make([]string, 2)
		for i := range keys {
			key, err := owner.CreateKey(t.Context(), client.NewKey{Name: "bot", OrganizationID: org})
			if err != nil {
				t.Fatal(err)
			}
			keys[i] = key.ID
		}
		for id, bound := range map[string][]string{
			"one-of-two": keys, "other-one": keys[:1], "bound-since": nil, "as-it-was": keys, "free-since": keys,
		} {
			if _, err := owner.RegisterAgent(t.Context(), org, client.NewAgent{AgentID: id, Keys: bound}); err != nil {
				t.Fatal(err)
			}
		}
		servers := map[string]string{}
		for _, name := range []string{"denied", "removed", "kept"} {
			made, err := owner.RegisterMCPServer(t.Context(), org, client.NewMCPServer{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			servers[name] = made.MCPID
		}
		change(t, server, `
			INSERT INTO identity_provider (org_id, issuer, client_id, sealed_secret, default_role, enforced, created_at, updated_at)
			VALUES ($1, 'https://idp.example', 'c', `+someBytes(o)+`, 'member', 0, 1, 1)`)
		saved := backup(t, o)
		for id, bound := range map[string][]string{
			"one-of-two": keys[1:], "other-one": keys[1:], "bound-since": keys[:1], "free-since": {},
		} {
			if _, err := owner.UpdateAgent(t.Context(), org, id, map[string]any{"keys": bound}); err != nil {
				t.Fatal(err)
			}
		}
		if err := owner.RemoveMCPServer(t.Context(), org, servers["removed"]); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.RegisterMCPServer(t.Context(), org, client.NewMCPServer{Name: "late"}); err != nil {
			t.Fatal(err)
		}
		change(t, server,
			`UPDATE mcp_server SET status = 'denied', reason = 'leaks' WHERE org_id = $1 AND name IN ('denied', 'late')`,
			`DELETE FROM identity_provider`)

		again, report := restoreOver(t, o, server, saved)
		if report.AgentsBoundAgain != 3 || report.ServersRefused != 3 || len(report.RemovedProviders) != 1 {
			t.Errorf("report = %+v", report.TakenAgain)
		}
		if owner, err = signInAs(t, again, server.FirstRun.Email, server.FirstRun.Password); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]struct {
			status string
			keys   []string
		}{
			"one-of-two": {"active", keys[1:]}, "bound-since": {"active", keys[:1]}, "as-it-was": {"active", keys},
			"free-since": {"active", keys}, "other-one": {"suspended", keys[:1]},
		} {
			got, err := owner.Agent(t.Context(), org, id)
			slices.Sort(want.keys)
			if err != nil || got.Status != want.status || !slices.Equal(got.Keys, want.keys) {
				t.Errorf("%s: %s, %v, %v, want %+v", id, got.Status, got.Keys, err, want)
			}
		}
		listed, err := owner.MCPServers(t.Context(), org, "")
		if err != nil {
			t.Fatal(err)
		}
		statuses := map[string]string{}
		for _, s := range listed {
			statuses[s.Name] = s.Status
		}
		if len(statuses) != 3 || statuses["denied"] != "denied" || statuses["late"] != "denied" ||
			statuses["kept"] != "approved" {
			t.Errorf("servers = %v", statuses)
		}
		wantEntry(t, again, org, "mcp.removed", "mcp_server/"+servers["removed"])
		wantEntry(t, again, org, "mcp.updated", "mcp_server/"+servers["denied"])
		wantEntry(t, again, org, "agent.updated", "agent/one-of-two")
		wantEntry(t, again, org, "agent.status_changed", "agent/other-one")
		wantEntry(t, again, org, "identity_provider.deleted", "identity_provider/"+org)
	})
}

// TestRestoreNamesWhatToCheck: what the restore brings back as it was is named, one by one where the replaced database
// shows it.
func TestRestoreNamesWhatToCheck(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	first := server.FirstRun
	owner, err := signInAs(t, server, first.Email, first.Password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.RegisterAgent(t.Context(), first.OrganizationID, client.NewAgent{AgentID: "bot"}); err != nil {
		t.Fatal(err)
	}
	saved := backup(t, o)
	if err := owner.DeletePolicy(t.Context(), first.PolicyID); err != nil {
		t.Fatal(err)
	}
	server.stop()
	report := restore(t, o, saved)
	want := "policy.deleted of policy/" + first.PolicyID + ", at index "
	if len(report.Check) != 1 || !strings.HasPrefix(report.Check[0], want) {
		t.Errorf("check = %q, want the policy that was deleted since", report.Check)
	}
	report = restore(t, elsewhere(t, o), saved)
	if !slices.Contains(report.Check, "members and their roles") {
		t.Errorf("check = %q, want all that nobody can know", report.Check)
	}
}

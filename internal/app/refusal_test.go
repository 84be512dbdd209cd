package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/canonical"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/secret"
)

// lostText is how an entry tells what is gone.
func lostText(lost audit.Lost) string {
	text, err := canonical.Marshal(lost)
	if err != nil {
		panic(err) // a struct of numbers
	}
	return string(text)
}

func TestBackupOverwritesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		start(t, o)
		path := filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := app.Backup(t.Context(), o, path); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("err = %v, want a refusal", err)
		}
		if got := read(t, path); got != "precious" {
			t.Errorf("the file that was there holds %q", got)
		}
	})
}

func TestFailedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	nowhere := func(t *testing.T) app.Options { return options(t, database.Options{}) }
	for _, c := range []struct {
		name    string
		options func(t *testing.T) app.Options
		because string
	}{
		{"no SQLite database", nowhere, "as for the server"},
		{"not an SQLite database", func(t *testing.T) app.Options {
			o := nowhere(t)
			place(t, filepath.Join(o.Config.DataDir, "writ.db"), []byte(strings.Repeat("not a database\n", 100)))
			return o
		}, "copy the database"},
		{"no PostgreSQL server", func(t *testing.T) app.Options {
			o := nowhere(t)
			o.Config.DatabaseURL = secret.NewText("postgres://someone:hunter2@127.0.0.1:1/writ?sslmode=disable")
			return o
		}, "pg_dump"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "backup")
			err := app.Backup(t.Context(), c.options(t), path)
			if err == nil || !strings.Contains(err.Error(), c.because) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("err = %v, want one that says %q and no password", err, c.because)
			}
			if exists(path) {
				t.Error("a file is left")
			}
		})
	}
}

func TestInterruptedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		start(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		path := filepath.Join(t.TempDir(), "backup")
		if err := app.Backup(ctx, o, path); err == nil {
			t.Error("an interrupted backup says that it is done")
		}
		if exists(path) {
			t.Error("a file is left")
		}
	})
}

// TestBackupDoesNotMigrate backs up a database that this version would alter, as
// one does before an upgrade.
func TestBackupDoesNotMigrate(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	path := filepath.Join(o.Config.DataDir, "writ.db")
	place(t, path, nil)
	execute(t, "sqlite", path, `CREATE TABLE older (x)`)
	before := read(t, path)
	saved := backup(t, o)
	if read(t, path) != before {
		t.Error("the backup changed the database")
	}
	execute(t, "sqlite", saved, `INSERT INTO older VALUES (1)`)
}

func TestRestoreRefusesGarbage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		start(t, o).stop()
		saved := backup(t, o)
		good := []byte(read(t, saved))
		target := o
		if o.Config.UsesPostgres() {
			target = elsewhere(t, o)
		}
		before := fingerprint(t, target.Config)
		for name, content := range garbage(t, good) {
			path := filepath.Join(t.TempDir(), "garbage")
			place(t, path, content)
			if report, err := app.Restore(t.Context(), target, path); err == nil {
				t.Errorf("%s: restored, %+v", name, report)
			}
			if diff := cmp.Diff(before, fingerprint(t, target.Config)); diff != "" {
				t.Fatalf("%s: the data folder changed (-before +after):\n%s", name, diff)
			}
		}
		if _, err := app.Restore(t.Context(), target, filepath.Join(t.TempDir(), "absent")); err == nil {
			t.Error("restored from a file that is not there")
		}
		restore(t, target, saved) // all of that left it as it was
		start(t, target)
	})
}

// garbage is what an operator may take for a backup.
func garbage(t *testing.T, good []byte) map[string][]byte {
	t.Helper()
	damaged := bytes.Clone(good)
	for i := len(damaged) / 3; i < len(damaged)*2/3; i++ {
		damaged[i] ^= 0x55
	}
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	place(t, foreign, nil)
	execute(t, "sqlite", foreign, `CREATE TABLE recipes (title TEXT)`)
	return map[string][]byte{
		"nothing":                   {},
		"text":                      []byte("PGDMP, or so it says"),
		"the first half":            good[:len(good)/2],
		"all but the end":           good[:len(good)-256],
		"damaged":                   damaged,
		"another program's data":    []byte(read(t, foreign)),
		"its header, then nonsense": append(bytes.Clone(good[:64]), bytes.Repeat([]byte("x"), 8192)...),
	}
}

// fingerprint is what the data folder holds.
func fingerprint(t *testing.T, c config.Config) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	names, err := os.ReadDir(c.DataDir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, entry := range names {
		if entry.IsDir() {
			files[entry.Name()] = [32]byte{}
			continue
		}
		files[entry.Name()] = sha256.Sum256([]byte(read(t, filepath.Join(c.DataDir, entry.Name()))))
	}
	return files
}

func TestRestoreReport(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(app.Restored{
		Logs: map[string]audit.Lost{"system": {Known: true, Entries: 2, From: 7, Epoch: 1}},
	})
	if want := `{"logs":{"system":{"known":true,"entries":2,"from":7}},"checkpointKey":"","endedSessions":0,"endedInvites":0,"endedPlans":0,"endedApprovals":0,"keysRevokedAgain":0,"erasedAgain":0}`; err != nil || string(text) != want {
		t.Errorf("report = %s, %v, want %s", text, err, want)
	}
}

func place(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

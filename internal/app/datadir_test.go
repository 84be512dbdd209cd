package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/secret"
)

func TestOneServerForADataFolder(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	refuses(t, o, "the data folder "+o.Config.DataDir+" is in use by another writd")
	if _, err := server.public.Ready(t.Context()); err != nil {
		t.Errorf("the first server after that: %v", err)
	}
	server.stop()
	start(t, o)
}

func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		start(t, o).stop()
		wrong := o
		wrong.Config.MasterKey = secret.NewText(otherKey)
		refuses(t, wrong, "the master key is not the one this database was sealed with")
		start(t, o)
	})
}

func TestMissingMasterKey(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	start(t, o).stop()
	path := filepath.Join(o.Config.DataDir, "master.key")
	key := read(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refuses(t, o, path+" is missing, but there is a database sealed with it")
	if exists(path) {
		t.Error("a new master key was made")
	}
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, o)
}

func TestGarbledMasterKeyIsNotShown(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	if err := os.MkdirAll(o.Config.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"master.key": "hunter2", "writ.db": "sealed"} {
		if err := os.WriteFile(filepath.Join(o.Config.DataDir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "master key") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v, want one about the master key that does not show it", err)
	}
}

// TestStartingTogetherMakesOneKey has a command and a server find no key at the
// same moment.
func TestStartingTogetherMakesOneKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := make([]string, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := app.MasterKeyIn(dir)
			if err != nil {
				t.Errorf("key %d: %v", i, err)
			}
			keys[i] = key.Reveal()
		})
	}
	wg.Wait()
	for i, key := range keys {
		if key == "" || key != keys[0] {
			t.Fatalf("the key of start %d is not that of start 0", i)
		}
	}
}

// TestPrivateFiles looks at everything a server makes. The umask is lifted in
// this program.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	if err := app.Backup(t.Context(), o, filepath.Join(o.Config.DataDir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(o.Config.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", entry.Name(), got, want)
		}
		seen[entry.Name()] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"data", "writ.db", "writ.db-wal", "writ.lock", "master.key", "first-run.json", "outbox", "backup.db",
	} {
		if !seen[name] {
			t.Errorf("%s was not there to look at", name)
		}
	}
	server.stop()
}

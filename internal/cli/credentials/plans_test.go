package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"writ/internal/cli/credentials"
)

const planServer = "https://writ.example.org"

func savePlan(t *testing.T, s credentials.Store, id, url string, age, life time.Duration) {
	t.Helper()
	declared := time.Now().Add(-age)
	if err := s.SavePlan(credentials.Plan{
		URL:        url,
		ID:         id,
		Token:      "token of " + id,
		DeclaredAt: declared,
		ExpiresAt:  declared.Add(life),
	}); err != nil {
		t.Fatal(err)
	}
}

func TestFindPlan(t *testing.T) {
	t.Parallel()
	s := credentials.Store{Folder: filepath.Join(t.TempDir(), "writ")}
	savePlan(t, s, "old", planServer, 2*time.Hour, 3*time.Hour)
	savePlan(t, s, "new", planServer, time.Hour, 3*time.Hour)
	savePlan(t, s, "elsewhere", "https://other.example.org", 0, time.Hour)
	savePlan(t, s, "over", planServer, time.Minute, time.Second)
	for _, c := range []struct{ name, server, id, want string }{
		{"the one declared last, which has expired", planServer, "", "over"},
		{"an older one, by its id", planServer + "/", "old", "old"},
		{"one that has expired, by its id: the server says so", planServer, "over", "over"},
		{"one of another server", planServer, "elsewhere", ""},
		{"none for the server", "https://third.example.org", "", ""},
		{"an id that is a path", planServer, "../credentials", ""},
	} {
		found, err := s.FindPlan(c.server, c.id)
		if c.want == "" && !errors.Is(err, credentials.ErrNone) || c.want != "" && err != nil || found.ID != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, found.ID, err, c.want)
		}
		if c.want != "" && found.Token != "token of "+c.want {
			t.Errorf("%s: its token is %q", c.name, found.Token)
		}
	}
}

func TestSavePlanDropsWhatHasExpired(t *testing.T) {
	t.Parallel()
	s := credentials.Store{Folder: filepath.Join(t.TempDir(), "writ")}
	savePlan(t, s, "over", planServer, time.Hour, time.Second)
	savePlan(t, s, "new", planServer, 0, time.Hour)
	files, err := os.ReadDir(filepath.Join(s.Folder, "plans"))
	if err != nil || len(files) != 1 || files[0].Name() != "new.json" {
		t.Errorf("files %v, %v, want new.json alone", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestPlansWithoutAFolder(t *testing.T) {
	t.Parallel()
	if _, err := (credentials.Store{}).FindPlan(planServer, ""); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("FindPlan: %v, want ErrNone", err)
	}
	if err := (credentials.Store{}).SavePlan(credentials.Plan{ID: "p"}); err == nil {
		t.Error("SavePlan succeeds without a folder")
	}
}

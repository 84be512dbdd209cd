package credentials_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/cli/credentials"
)

const here, there = "https://writ.example", "https://other.example"

// store is a place for sign-ins that nothing was saved in.
func store(t *testing.T) credentials.Store {
	t.Helper()
	folder := t.TempDir()
	return credentials.Store{
		Folder: filepath.Join(folder, "config", "writ"), Published: filepath.Join(folder, "published.json"),
	}
}

func save(t *testing.T, s credentials.Store, in credentials.SignIn) {
	t.Helper()
	if err := s.Save(in); err != nil {
		t.Fatalf("save: %v", err)
	}
}

func publish(t *testing.T, s credentials.Store, text string) {
	t.Helper()
	if err := os.WriteFile(s.Published, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// signedIn is a sign-in whose access token holds for a while.
func signedIn(life time.Duration) credentials.SignIn {
	in := credentials.SignIn{
		URL:     here,
		APIKey:  "ak_test_saved",
		KeyID:   "k1",
		Email:   "ada@example.org",
		UserID:  "u1",
		OrgID:   "o1",
		OrgName: "One",
	}
	return in.Hold(credentials.Tokens{Access: "access", Refresh: "refresh", Life: life})
}

func TestSavedIsRead(t *testing.T) {
	t.Parallel()
	s := store(t)
	if _, err := s.Read(); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("before: %v, want ErrNone", err)
	}
	want := signedIn(time.Hour)
	save(t, s, want)
	got, err := s.Read()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(credentials.SignIn{}, "SavedAt")); diff != "" || err != nil ||
		got.SavedAt.IsZero() {
		t.Errorf("saved at %v, %v (-want +got):\n%s", got.SavedAt, err, diff)
	}
	entries, err := os.ReadDir(s.Folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v; want the file and its lock alone", entries, err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("after: %v, want ErrNone", err)
	}
	if err := s.Remove(); err != nil {
		t.Errorf("remove nothing: %v", err)
	}
}

// TestNobodyElseReads: the file is its owner's alone, also when it replaces one
// that was not, and one that others can read is not believed.
func TestNobodyElseReads(t *testing.T) {
	t.Parallel()
	s := store(t)
	save(t, s, signedIn(time.Hour))
	if err := os.Chmod(s.File(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), "others can read") {
		t.Errorf("a file that others can read: %v", err)
	}
	if _, err := s.Find("", noEnvironment); err == nil {
		t.Error("credentials were found in it")
	}
	save(t, s, signedIn(time.Hour))
	for path, want := range map[string]os.FileMode{s.File(): 0o600, s.Folder: 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "ak_test_secret", "a list": `["ak_test_secret"]`, "no server": `{"apiKey":"ak_test_secret"}`,
		"too large": `{"url":"https://writ.example","apiKey":"ak_test_secret` + strings.Repeat("x", 64<<10) + `"}`,
	} {
		s := store(t)
		save(t, s, signedIn(time.Hour))
		if err := os.WriteFile(s.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read()
		if err == nil || errors.Is(err, credentials.ErrNone) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error that shows nothing of it", name, err)
		}
	}
}

func TestNoPlaceToKeep(t *testing.T) {
	t.Parallel()
	var s credentials.Store
	if found, err := s.Find("", noEnvironment); err != nil || found.URL != credentials.DefaultURL ||
		found.APIKey != "" {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := s.Save(signedIn(time.Hour)); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("save: %v", err)
	}
}

// renewer counts how often a refresh token is used, and accepts each once.
type renewer struct {
	sync.Mutex
	valid string
	used  int
}

func (r *renewer) renew(_ context.Context, token string) (credentials.Tokens, error) {
	r.Lock()
	defer r.Unlock()
	if token != r.valid {
		return credentials.Tokens{}, errors.New("the refresh token was used before")
	}
	r.used++
	r.valid += "+"
	return credentials.Tokens{Access: "new access", Refresh: r.valid, Life: time.Hour}, nil
}

// TestTokensAreRenewedOnce has several writ find a token that ended. Each a store
// of its own, as processes have.
func TestTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	s := store(t)
	save(t, s, signedIn(20*time.Second)) // too near its end
	r := &renewer{valid: "refresh"}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			one := credentials.Store{Folder: s.Folder}
			if token, err := one.AccessToken(t.Context(), here, r.renew); err != nil || token != "new access" {
				t.Errorf("token %q, %v", token, err)
			}
		})
	}
	group.Wait()
	kept, err := s.Read()
	if err != nil || r.used != 1 || kept.RefreshToken != "refresh+" || kept.APIKey != "ak_test_saved" || !kept.Fresh() {
		t.Errorf("renewed %d times, kept %+v, %v", r.used, kept, err)
	}
}

func TestTokensThatAreNotRenewed(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, string) (credentials.Tokens, error) {
		return credentials.Tokens{}, errors.New("refused")
	}
	s := store(t)
	save(t, s, signedIn(time.Minute))
	if token, err := s.AccessToken(t.Context(), here, refuse); err != nil || token != "access" {
		t.Errorf("one that holds: %q, %v", token, err)
	}
	if token, err := s.AccessToken(t.Context(), there, refuse); !errors.Is(err, credentials.ErrNone) || token != "" {
		t.Errorf("for another server: %q, %v", token, err)
	}
	save(t, s, signedIn(0))
	if token, err := s.AccessToken(t.Context(), here, refuse); err == nil || token != "" {
		t.Errorf("refused: %q, %v", token, err)
	}
	if kept, err := s.Read(); err != nil || kept.RefreshToken != "refresh" || kept.APIKey == "" {
		t.Errorf("a refusal changed what is kept: %+v, %v", kept, err)
	}
	save(t, s, credentials.SignIn{URL: here, APIKey: "ak_test_saved"})
	if token, err := s.AccessToken(t.Context(), here, refuse); !errors.Is(err, credentials.ErrNone) || token != "" {
		t.Errorf("a key alone: %q, %v", token, err)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	s := store(t)
	before := signedIn(time.Hour)
	save(t, s, before)
	change := func(in *credentials.SignIn) { in.APIKey, in.OrgID = "ak_test_next", "o2" }
	if err := s.Update(before, change); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Read(); err != nil || kept.APIKey != "ak_test_next" || kept.OrgID != "o2" ||
		kept.RefreshToken != "refresh" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if err := s.Update(before, change); err == nil {
		t.Error("a change of what is no longer there was made")
	}
}

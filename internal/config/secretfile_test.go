package config_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/config"
)

func TestEveryFileVariant(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	direct := fullEnviron(certificate, key)
	content := map[string]string{}
	var environ []string
	for i, v := range config.Variables() {
		if v.Secret && !v.File {
			t.Errorf("%s is secret and has no file variant", v.Name)
		}
		entry := direct[i]
		if v.File {
			path := "/run/secrets/" + v.Name
			content[path] = strings.TrimPrefix(entry, v.Name+"=") + "\r\n"
			entry = v.Name + "_FILE=" + path
		}
		environ = append(environ, entry)
	}
	got, err := config.Load(environ, files(content))
	if err != nil {
		t.Fatal(err)
	}
	want := mustLoad(t, direct...)
	want.TLSCertificate = strings.TrimRight(certificate, "\n")
	if diff := cmp.Diff(want.TLSCertificate, got.TLSCertificate); diff != "" {
		t.Errorf("certificate from a file (-want +got):\n%s", diff)
	}
	if got.TLSKey.Reveal() != strings.TrimRight(key, "\n") {
		t.Error("the key from a file is another")
	}
	got.TLSKey = want.TLSKey
	if got.TLSCertFile == "" || got.TLSKeyFile == "" {
		t.Error("it is not known where the certificate and its key were read")
	}
	got.TLSCertFile, got.TLSKeyFile = "", ""
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("from files (-want +got):\n%s", diff)
	}
}

func TestFileProblems(t *testing.T) {
	t.Parallel()
	const misplaced = "the-secret-itself"
	readFile := func(path string) ([]byte, error) {
		switch path {
		case "/empty":
			return []byte(" \n\n"), nil
		case "/short":
			return []byte("short\n"), nil
		case "/forbidden":
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		case "/broken":
			return nil, errors.New("broken: " + misplaced)
		}
		return noFiles(path)
	}
	for _, c := range []struct {
		name    string
		environ []string
		want    config.Problem
	}{
		{"missing", []string{"WRIT_PROXY_TOKEN_FILE=" + misplaced},
			config.Problem{
				Variable: "WRIT_PROXY_TOKEN_FILE", Message: "names a file that cannot be read: it does not exist",
			}},
		{"forbidden", []string{"WRIT_PROXY_TOKEN_FILE=/forbidden"},
			config.Problem{
				Variable: "WRIT_PROXY_TOKEN_FILE", Message: "names a file that cannot be read: permission denied",
			}},
		{"broken", []string{"WRIT_PROXY_TOKEN_FILE=/broken"},
			config.Problem{Variable: "WRIT_PROXY_TOKEN_FILE", Message: "names a file that cannot be read"}},
		{"empty", []string{"WRIT_PROXY_TOKEN_FILE=/empty"},
			config.Problem{Variable: "WRIT_PROXY_TOKEN_FILE", Message: "names a file that is empty"}},
		{"both", []string{"WRIT_METRICS_TOKEN=metrics-token-16", "WRIT_METRICS_TOKEN_FILE=/short"},
			config.Problem{
				Variable: "WRIT_METRICS_TOKEN",
				Message:  "is set together with WRIT_METRICS_TOKEN_FILE; keep one of them",
			}},
		{"bad content", []string{"WRIT_MASTER_KEY_FILE=/short"},
			config.Problem{
				Variable: "WRIT_MASTER_KEY_FILE",
				Message:  "names a file whose content must be 32 bytes as base64 or as 64 hex digits",
			}},
		{"an unreadable master key is not also missing",
			[]string{"DATABASE_URL=postgres://db/writ", "WRIT_MASTER_KEY_FILE=/empty"},
			config.Problem{Variable: "WRIT_MASTER_KEY_FILE", Message: "names a file that is empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, readFile, c.environ...)
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("problems = %q, want %q", got, c.want)
			}
			if strings.Contains(got.Error(), misplaced) {
				t.Errorf("the path is shown: %v", got)
			}
		})
	}
}

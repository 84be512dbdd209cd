package app_test

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"writ/client"
	"writ/internal/app"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestMain lifts the umask, so that files are private because the server makes
// them so, and checks that servers that were stopped leave nothing running.
func TestMain(m *testing.M) {
	syscall.Umask(0)
	goleak.VerifyTestMain(m)
}

// masterKey and otherKey are any two keys.
var (
	masterKey = strings.Repeat("5a", 32)
	otherKey  = strings.Repeat("a5", 32)
)

// options configure a server on a database, with a folder of its own. Settings
// are further environment variables, in pairs.
func options(t *testing.T, db database.Options, settings ...string) app.Options {
	t.Helper()
	environment := map[string]string{
		"PORT":          "0",
		"WRIT_DATA_DIR": filepath.Join(t.TempDir(), "data"),
		"DATABASE_URL":  db.PostgresURL,
	}
	if db.PostgresURL != "" {
		environment["WRIT_MASTER_KEY"] = masterKey
	}
	for i := 0; i < len(settings); i += 2 {
		environment[settings[i]] = settings[i+1]
	}
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		environ = append(environ, name+"="+environment[name])
	}
	c, err := config.Load(environ, os.ReadFile)
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	return app.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test"}
}

// each runs the body with the options of a server on each database.
func each(t *testing.T, body func(t *testing.T, o app.Options), settings ...string) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		body(t, options(t, database.Options{}, settings...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		body(t, options(t, dbtest.Postgres(t), settings...))
	})
}

// running is a server that stops with the test, or before.
type running struct {
	*app.Server
	t      *testing.T
	public *client.Client // without credentials
	once   sync.Once
}

func start(t *testing.T, o app.Options) *running {
	t.Helper()
	server, err := app.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	r := &running{Server: server, t: t, public: &client.Client{BaseURL: server.URL, HTTP: fleeting()}}
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.t.Helper()
	r.once.Do(func() {
		if err := r.Stop(); err != nil {
			r.t.Errorf("stop: %v", err)
		}
	})
}

// fleeting is an HTTP client that keeps no connection.
func fleeting() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// refuses checks that a server does not start, and says why.
func refuses(t *testing.T, o app.Options, because string) {
	t.Helper()
	server, err := app.Start(t.Context(), o)
	if err == nil {
		t.Errorf("started, want a refusal that says %q", because)
		if err := server.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		return
	}
	if !strings.Contains(err.Error(), because) {
		t.Errorf("err = %v, want one that says %q", err, because)
	}
}

// journal is a log that a test can read while it is written.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

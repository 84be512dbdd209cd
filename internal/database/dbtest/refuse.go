package dbtest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"writ/internal/database"
)

// RefuseConnections makes PostgreSQL refuse every connection to a test's database, and ends those that are open, until
// accept is called.
func RefuseConnections(t testing.TB, o database.Options) (accept func()) {
	t.Helper()
	u, err := url.Parse(o.PostgresURL)
	if err != nil {
		t.Fatalf("parse the database URL: %v", err)
	}
	name, server := strings.TrimPrefix(u.Path, "/"), serverURL(t)
	run := func(statement string) {
		t.Helper()
		if err := execute(server, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	allow := func(allowed bool) { run(fmt.Sprintf(`ALTER DATABASE %s ALLOW_CONNECTIONS %t`, name, allowed)) }
	allow(false)
	run(fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'`, name))
	return func() { allow(true) }
}

package cli_test

import (
	"context"
	"database/sql"
	"encoding/base32"
	"fmt"
	"net/http"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/internal/auth/totp"
)

// factor TOKENFILE JSONFILE gives the person of an access token, whose password is in the file, a second factor, and
// puts the recovery codes into CODE0 to CODE9: unlike those of an app they need no waiting.
func factor(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "factor TOKENFILE JSONFILE")
	ctx, person := context.Background(), server(ts).As(ts.ReadFile(args[0]))
	var made struct{ Secret string }
	ts.Check(person.Call(ctx, http.MethodPost, "/user/second-factor", nil,
		map[string]string{"password": member(ts, args[1], "password")}, &made))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(made.Secret)
	ts.Check(err)
	var given struct{ Codes []string }
	ts.Check(person.Call(ctx, http.MethodPost, "/user/second-factor/confirm", nil,
		map[string]string{"code": totp.Code(key, totp.Step(time.Now()))}, &given))
	for i, code := range given.Codes {
		ts.Setenv(fmt.Sprint("CODE", i), code)
	}
}

// oldproofs makes the proofs of second factors an hour old, while no server runs.
func oldProofs(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 0, "oldproofs")
	db, err := sql.Open("sqlite", ts.MkAbs("data/writ.db"))
	ts.Check(err)
	defer db.Close()
	changed, err := db.Exec(`UPDATE user_session SET proved_at = proved_at - $1 WHERE proved_at IS NOT NULL`,
		time.Hour.Microseconds())
	ts.Check(err)
	n, err := changed.RowsAffected()
	ts.Check(err)
	needs(ts, n > 0, "a session that proved a second factor")
}

package writ_test

import (
	"strings"
	"testing"
	"time"
)

// Keys that are over leave their name to the one that is active; a stopped one can go on, and keeps it.
func TestKeysThatAreOverLeaveTheirName(t *testing.T) {
	const id, other = "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e31", "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e32"
	for over, isOver := range map[string]bool{
		`"status":"expired"`: true, `"status":"revoked"`: true, `"status":"active","stopped":true`: false,
	} {
		server := newAsked(t, map[string]string{
			"GET /api-keys": `{"data":[{"id":"` + other + `","name":"dup",` + over + `},` +
				`{"id":"` + id + `","name":"dup","status":"active"}]}`,
			"POST /api-keys/" + id + "/rotate": `{"id":"` + id + `","apiKey":"ak_test_next"}`,
			"POST /api-keys/" + id + "/revoke": "{}",
			"POST /api-keys":                   `{"id":"` + id + `","name":"dup","apiKey":"ak_test_new"}`,
		})
		signedInTo(t, server.URL, time.Hour)
		for _, args := range [][]string{{"rotate", "dup"}, {"revoke", "dup"}, {"create", "--name", "dup"}} {
			said, err := command(t, append([]string{"keys"}, args...)...)
			if err != nil {
				said += err.Error()
			}
			if isAlone := !strings.Contains(said, `keys are called "dup"`) &&
				!strings.Contains(said, `keys is called "dup"`); isAlone != isOver {
				t.Errorf("%s, %v: %q", over, args, said)
			}
			if isOver && err != nil {
				t.Errorf("%s, %v: %v", over, args, err)
			}
		}
	}
}

package ledger_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/audit/ledger"
	"writ/internal/canonical"
)

// TestRecordIsCanonical compares with the canonical form of the struct.
func TestRecordIsCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		r := ledger.Record{
			Form: 1, Log: text.Draw(t, "log"), Epoch: rapid.Int64().Draw(t, "epoch"),
			Index: rapid.Int64().Draw(t, "index"),
			Time:  rapid.Int64().Draw(t, "time"), Action: text.Draw(t, "action"),
			Actor:   ledger.Actor{Kind: text.Draw(t, "kind"), ID: text.Draw(t, "actor")},
			Subject: ledger.Subject{Type: text.Draw(t, "type"), ID: text.Draw(t, "subject")},
			Decision: ledger.Decision{
				Agent: text.Draw(t, "agent"), Tool: text.Draw(t, "tool"), Verdict: text.Draw(t, "verdict"),
				Plan:    text.Draw(t, "plan"),
				Session: text.Draw(t, "session"), Step: text.Draw(t, "step"), Server: text.Draw(t, "server"),
				Policy: text.Draw(t, "policy"), Version: rapid.Int().Draw(t, "version"), Rule: text.Draw(t, "rule"),
				Digest: text.Draw(t, "digest"),
			},
			Payload: text.Draw(t, "payload"),
		}
		got, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		want, err := canonical.Marshal(r)
		if err != nil || string(got) != string(want) {
			t.Fatalf("Encode = %s, want %s (%v)", got, want, err)
		}
		if again, err := ledger.ParseRecord(got); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("ParseRecord = %+v, %v", again, err)
		}
	})
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ledger.Record{
		"invalid UTF-8":                {Decision: ledger.Decision{Tool: "\xff"}},
		"invalid UTF-8 before the end": {Action: "\xff", Decision: ledger.Decision{Verdict: "deny"}},
		"more than a line can hold":    {Decision: ledger.Decision{Tool: strings.Repeat("x", ledger.MaxRecord)}},
	} {
		if text, err := r.Encode(); err == nil {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
	good := string(newHistory(t, 1).items[0].record)
	for name, text := range map[string]string{
		"nothing":            "",
		"null":               "null",
		"a space":            " " + good,
		"another version":    strings.Replace(good, `"v":1`, `"v":2`, 1),
		"another member":     strings.Replace(good, `{"action"`, `{"a":1,"action"`, 1),
		"a member twice":     strings.Replace(good, `"v":1`, `"v":1,"v":1`, 1),
		"another type":       strings.Replace(good, `"v":1`, `"v":"1"`, 1),
		"an escape":          strings.Replace(good, `mail.send`, `mail\u002esend`, 1),
		"a fraction":         strings.Replace(good, `"v":1`, `"v":1.0`, 1),
		"a default":          strings.Replace(good, `"plan":"p"`, `"plan":""`, 1),
		"a name in capitals": strings.Replace(good, `"plan"`, `"Plan"`, 1),
	} {
		if text == good {
			t.Fatalf("%s changes nothing", name)
		}
		if r, err := ledger.ParseRecord([]byte(text)); err == nil {
			t.Errorf("%s is taken: %+v", name, r)
		} else if strings.Contains(err.Error(), "mail") {
			t.Errorf("%s: the error shows a value: %v", name, err)
		}
	}
}

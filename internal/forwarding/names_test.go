package forwarding_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/forwarding"
	"writ/internal/otlp"
	"writ/internal/verdict"
)

// export sends a span as OpenTelemetry does, of a process that says these attributes of itself.
func (e *env) export(resource string) {
	e.T.Helper()
	id := database.NewID()
	traceID := strings.ReplaceAll(id, "-", "")
	at := e.Now().UnixNano()
	body := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":%s},"scopeSpans":[{"spans":[`+
		`{"traceId":%q,"spanId":%q,"name":"step","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`,
		resource, traceID, hex.EncodeToString([]byte(id[len(id)-8:])), at, at)
	reading, err := otlp.Read(e.T.Context(), []byte(body), otlp.JSON, otlp.Options{
		Product: "p", MaxBytes: 1 << 20, Take: func(int64) error { return nil },
	})
	if err != nil {
		e.T.Fatal(err)
	}
	if _, err := e.telemetry.AddFragments(e.T.Context(), e.org, reading.Fragments); err != nil {
		e.T.Fatal(err)
	}
}

// sent is all that was forwarded, as text.
func (r *receiver) sent() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.about, "\n")
	for _, s := range r.spans {
		all += prototext.Format(s)
	}
	return all
}

// TestNamesHoldNoSecrets: what clients choose beside attributes, such as names of spans, leaves without known secrets
// unless all is sent as it came.
func TestNamesHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-abcdefghij0123456789"
	each(t, func(t *testing.T, e *env) {
		for _, content := range []forwarding.Content{forwarding.None, forwarding.Redacted, forwarding.Full} {
			e := e.elsewhere()
			e.receiver.forget()
			settings := e.settings()
			settings.Content = content
			e.put(settings)
			at := stamp(e.Now())
			e.send(`{"trace":{"id":"` + database.NewID() + `","name":"run ` + secret + `","startTime":"` + at +
				`","status":"ok","agentId":"a ` + secret + `","attributes":{"source":"s ` + secret + `"}},"spans":[
				{"id":"` + database.NewID() + `","kind":"tool","name":"curl ` + secret + `","startTime":"` + at +
				`","status":"ok","attributes":{"toolName":"t ` + secret + `"}},
				{"id":"` + database.NewID() + `","kind":"generation","name":"chat","startTime":"` + at +
				`","status":"ok","attributes":{"model":"m ` + secret + `"}}]}`)
			e.decide(1, func(d *decision.Record) {
				d.Verdict, d.Tool, d.Server, d.Reason = verdict.Deny, "u "+secret, "v "+secret, "because of "+secret
			})
			e.rest()
			all := e.receiver.sent()
			if got := strings.Contains(all, secret); got != (content == forwarding.Full) {
				t.Errorf("%s: the secret is sent: %v: %s", content, got, all)
			}
			for _, name := range []string{"run ", "curl ", "t ", "m ", "u "} {
				if !strings.Contains(all, `"`+name) && !strings.Contains(all, `writ.decision `+name) {
					t.Errorf("%s: the name that begins with %q is not sent: %s", content, name, all)
				}
			}
		}
	})
}

// TestResourcesAreForwarded: what a process said of itself arrives as its resource, as far as the content allows.
func TestResourcesAreForwarded(t *testing.T) {
	t.Parallel()
	attribute := func(name, value string) string {
		return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, name, value)
	}
	each(t, func(t *testing.T, e *env) {
		for content, want := range map[forwarding.Content]struct{ words, secrets bool }{
			forwarding.None: {false, false}, forwarding.Redacted: {true, false}, forwarding.Full: {true, true},
		} {
			e := e.elsewhere()
			e.receiver.forget()
			settings := e.settings()
			settings.Content = content
			e.put(settings)
			for _, host := range []string{"east", "west"} {
				e.export(`[` + strings.Join([]string{
					attribute("service.name", "shop"), attribute("host.name", host),
					attribute("api_key", "of-the-process"), attribute("writ.organization.id", "forged"),
				}, ",") + `]`)
			}
			e.rest()
			about := strings.Join(e.receiver.about, "\n")
			for word, isSent := range map[string]bool{
				`"east"`: want.words, `"west"`: want.words, "client.writ.organization.id": want.words,
				"of-the-process": want.secrets, "shop": true, e.org: true,
			} {
				if strings.Contains(about, word) != isSent {
					t.Errorf("%s: that %s is sent: %v: %s", content, word, !isSent, about)
				}
			}
			if groups := len(e.receiver.about); want.words && groups != 2 || !want.words && groups != 1 {
				t.Errorf("%s: %d resources: %s", content, groups, about)
			}
		}
	})
}

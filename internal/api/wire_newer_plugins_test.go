package api_test

import (
	"bytes"
	"strings"
	"testing"
)

// Newer plugins ask whether to upload a device's history; null means no.
func TestWireDeviceHistory(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		const path = "/api-keys/device-history-sync?deviceId=laptop-7"
		for name, headers := range map[string][]string{"SDK": w.sdk(), "Claude": w.claude()} {
			answer := w.wire(t, "GET", path, "", headers...)
			if answer.status != 200 {
				t.Errorf("%s: %d %s", name, answer.status, answer.body)
			}
			wantTypes(t, name, w.members(path, answer), map[string]string{"requestedAt": "null", "requestId": "null"})
		}
		if answer := w.wire(t, "GET", path, ""); answer.status != 401 {
			t.Errorf("without a key: %d %s", answer.status, answer.body)
		}
	})
}

// A plugin whose policy engine is set to this server asks it without a credential, looks at no status, and denies
// where the answer has no result. So no answer may have one.
func TestWirePolicyEngineQuery(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		const body = `{"input":{"policies":[],"policy":{"schemaVersion":1,"defaults":{},"statements":[]},"context":{"timestamp":1},` +
			`"resource":{"toolName":"search","resourceType":"tool","params":{}},"subject":{"source":"claude-code"}}}`
		for _, headers := range [][]string{nil, w.claude()} {
			status, answer := w.call("/v1/data/armoriq/authz/decision", body, headers...)
			if _, has := answer["result"]; status != 404 || has || answer["allowed"] == true {
				t.Errorf("%d %v", status, answer)
			}
		}
	})
}

// People look for a trace by the id that their own tools show: OpenTelemetry's.
func TestWireTraceByOpenTelemetrysID(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		const id = "5b8efff798038103d269b633813fc60c"
		const uuid = "5b8efff7-9803-8103-d269-b633813fc60c"
		sent := `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"traceId":"` + id +
			`","spanId":"eee19b7ec3c1b174","name":"chat","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000001000000000"}]}]}]}`
		if status, answer := w.call("/v1/traces", sent, "X-API-Key", w.key); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		for _, asked := range []string{id, strings.ToUpper(id), uuid} {
			for _, tail := range []string{"", "/export"} {
				path := "/organization/" + w.org + "/observability/traces/" + asked + tail
				answer := w.wire(t, "GET", path, "", "Authorization", "Bearer "+w.owner.Tokens.AccessToken)
				if answer.status != 200 || !bytes.Contains(answer.body, []byte(`"id":"`+uuid+`"`)) {
					t.Errorf("%s: %d %s", path, answer.status, answer.body)
				}
			}
		}
	})
}

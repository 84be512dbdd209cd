package traces_test

import (
	"bytes"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// People look for a trace by the id that their own tools show: OpenTelemetry's.
func TestWireTraceByOpenTelemetrysID(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		const id = "5b8efff798038103d269b633813fc60c"
		const uuid = "5b8efff7-9803-8103-d269-b633813fc60c"
		sent := `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"traceId":"` + id +
			`","spanId":"eee19b7ec3c1b174","name":"chat","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000001000000000"}]}]}]}`
		if status, answer := w.Call("/v1/traces", sent, "X-API-Key", w.Key); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		for _, asked := range []string{id, strings.ToUpper(id), uuid} {
			for _, tail := range []string{"", "/export"} {
				path := "/organization/" + w.Org + "/observability/traces/" + asked + tail
				answer := w.Request(t, "GET", path, "", "Authorization", "Bearer "+w.Owner.Tokens.AccessToken)
				if answer.Status != 200 || !bytes.Contains(answer.Body, []byte(`"id":"`+uuid+`"`)) {
					t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
				}
			}
		}
	})
}

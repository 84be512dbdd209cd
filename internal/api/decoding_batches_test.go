package api_test

import (
	"encoding/json"
	"net/http"
	"strings"

	"writ/client"
	"writ/internal/testserver"
)

// splitsBatches reports whether the route reads its body in two steps: the whole
// leniently, then each batch strictly, because one bad batch must not take the
// others with it. What is strict there is tested in traces/rejections_test.go.
func (r *bodyRoute) splitsBatches() bool { return r.path == "/observability/spans" }

// take wants what is not read to do no harm.
func (r *bodyRoute) take(what, body string) {
	r.t.Helper()
	if answer := r.send(body); answer.Status != http.StatusOK {
		r.t.Errorf("%s: status %d, want 200: %s", what, answer.Status, answer.Body)
	}
}

// rejectBatch wants the one batch of the body rejected, not the request.
func (r *bodyRoute) rejectBatch(what, body, field string) {
	r.t.Helper()
	answer := r.send(body)
	var got client.Ingested
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != http.StatusOK {
		r.t.Errorf("%s: status %d, want 200: %s", what, answer.Status, answer.Body)
		return
	}
	if got.Accepted != 0 || got.Rejected != 1 || len(got.Rejections) != 1 || got.Rejections[0].Field != field {
		r.t.Errorf("%s: %s, want one rejection for %s", what, answer.Body, field)
	}
	if strings.Contains(string(answer.Body), testserver.TypedSecret) {
		r.t.Errorf("%s: the answer repeats what was sent: %s", what, answer.Body)
	}
}

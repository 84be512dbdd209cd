package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
)

// TestOTLPRetries: OTLP has exporters send again after 503, when Retry-After says.
func TestOTLPRetries(t *testing.T) {
	t.Parallel()
	r := route.New(route.Config{Logger: slog.New(slog.DiscardHandler)})
	busy := fault.New(fault.Unavailable, "too much is being received at once; try again")
	busy.RetryAfter = 2 * time.Second
	for _, contentType := range []string{"application/x-protobuf", "application/json"} {
		request := httptest.NewRequest(http.MethodPost, otlpPath, strings.NewReader(""))
		request.Header.Set("Content-Type", contentType)
		answer := httptest.NewRecorder()
		writeOTLPError(answer, request, r.Render(request.Context(), busy))
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "2" ||
			answer.Header().Get("Content-Type") != contentType {
			t.Errorf("%s: %d %v", contentType, answer.Code, answer.Header())
		}
		if body := answer.Body.String(); !strings.Contains(body, "too much is being received at once") {
			t.Errorf("%s says %q", contentType, body)
		}
	}
}

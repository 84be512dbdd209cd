package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"writ/internal/app"
)

// TestDroppedBodyLeavesNothing has clients go away before a body is whole, though
// what came of it would be a request.
func TestDroppedBodyLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		request, items := makeRequest([]string{uuid.NewString()})
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		for name, framing := range map[string]string{
			"short of its length":    fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body),
			"without the last chunk": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body),
			"cut in the middle":      fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2]),
		} {
			if status := sendRaw(t, server, framing); status != http.StatusBadRequest {
				t.Errorf("a body %s: status %d, want 400", name, status)
			}
		}
		for id := range items {
			if detail, err := server.Telemetry.Trace(t.Context(), server.FirstRun.OrganizationID, id); err != nil ||
				detail != nil {
				t.Errorf("trace %s: %+v, %v, want none", id, detail, err)
			}
		}
		answer, err := server.public.WithKey(server.FirstRun.APIKey).Ingest(t.Context(), request)
		if err != nil || answer.Accepted != len(items) || answer.Duplicate != 0 {
			t.Errorf("sent whole: %+v, %v", answer, err)
		}
	})
}

// sendRaw sends an ingest request, says that nothing more comes, and gives the
// status of the answer.
func sendRaw(t *testing.T, server *running, framingAndBody string) int {
	t.Helper()
	conn, err := net.Dial("tcp", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /observability/spans HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nx-api-key: " + server.FirstRun.APIKey + "\r\n"
	if _, err := io.WriteString(conn, head+framingAndBody); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

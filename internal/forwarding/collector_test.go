package forwarding_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/forwarding"
)

// collected is a span as the OpenTelemetry Collector has it.
type collected struct {
	Service    string         `json:"service"`
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	ParentID   string         `json:"parentId"`
	Name       string         `json:"name"`
	Status     string         `json:"status"`
	Attributes map[string]any `json:"attributes"`
}

// buildCollector builds the Collector's receiver when it is absent.
func buildCollector(t *testing.T) (path string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "../../scripts/collector")
	var complaint bytes.Buffer
	build.Stderr = &complaint
	printed, err := build.Output()
	if err != nil {
		t.Fatalf("build the collector: %v\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(printed))
}

// startCollector runs it until the test ends.
func startCollector(t *testing.T, path string) (endpoint string, spans <-chan collected) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(path, address)
	printed, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // says that it was killed
	})
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the collector says %q, %v", line, err)
	}
	return "http://" + address, readCollected(printed)
}

func readCollected(printed io.Reader) <-chan collected {
	spans := make(chan collected, 100)
	go func() {
		defer close(spans)
		for lines := json.NewDecoder(printed); ; {
			var s collected
			if lines.Decode(&s) != nil {
				return // it has ended
			}
			spans <- s
		}
	}()
	return spans
}

// TestTheCollectorItself forwards to the receiver of the OpenTelemetry Collector.
func TestTheCollectorItself(t *testing.T) {
	t.Parallel()
	path := buildCollector(t)
	each(t, func(t *testing.T, e *env) {
		endpoint, spans := startCollector(t, path)
		settings := e.settings()
		settings.Endpoint = endpoint // it listens where OTLP has it
		e.put(settings)
		trace := strings.ReplaceAll(e.someTrace(), "-", "")
		want := append(decided(e.decide(2)), "order", "ask", "search", "foreign", "writ.test")
		e.rest()
		if got := e.status(); got.SentSpans != 4 || got.SentDecisions != 2 || got.Refused != 0 || got.Problem != "" {
			t.Errorf("status %+v", got)
		}
		if tested, err := e.out.Test(t.Context(), e.admin); err != nil ||
			tested != (forwarding.Tested{Taken: true, HTTPStatus: 200}) {
			t.Errorf("a test: %+v, %v", tested, err)
		}
		byName := map[string]collected{}
		for range want {
			select {
			case s := <-spans:
				byName[s.Name] = s
			case <-time.After(2 * time.Minute):
				t.Fatalf("the collector has only %v", byName)
			}
		}
		if missing := slices.DeleteFunc(want, func(name string) bool {
			return byName[name].Name == name
		}); len(missing) > 0 {
			t.Errorf("the collector lacks %v", missing)
		}
		root, ask := byName["order"], byName["ask"]
		if root.TraceID != trace || root.Service != "shop-bot" || root.ParentID != "" || root.Status != "Error" ||
			ask.ParentID != root.SpanID || ask.TraceID != trace {
			t.Errorf("the collector has %+v and %+v", root, ask)
		}
		if ask.Attributes["gen_ai.request.model"] != "gpt-4o" ||
			ask.Attributes["gen_ai.usage.input_tokens"] != 100.0 || ask.Attributes["api_key"] != "[redacted]" {
			t.Errorf("attributes %v", ask.Attributes)
		}
	})
}

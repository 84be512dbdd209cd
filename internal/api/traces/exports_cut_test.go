package traces_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// storeBulk stores so much that an export of it does not fit into what a connection
// holds by itself.
func (o *observed) storeBulk() (traces int) {
	o.t.Helper()
	words := strings.Repeat("word ", 2000)
	for range 8 {
		var batches []any
		for range 200 {
			batches = append(batches, batch(o.trace(m{"attributes": m{"input": words}})))
			traces++
		}
		o.store(batches...)
	}
	return traces
}

// openExport begins an export and reads a little of it. Its connection holds little
// by itself, however the machine is set up.
func (o *observed) openExport() io.ReadCloser {
	o.t.Helper()
	narrow := *o.owner.Client
	narrow.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(
		ctx context.Context, network, address string,
	) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return conn, conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	}}}
	o.t.Cleanup(narrow.HTTP.CloseIdleConnections)
	body, err := narrow.ExportTraces(o.t.Context(), o.org, client.TraceExport{})
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := io.ReadFull(body, make([]byte, 100)); err != nil {
		o.t.Fatal(err)
	}
	return body
}

// TestExportsAtOnce: an organization has so many exports at once and no more, and
// one that ends makes room.
func TestExportsAtOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		o := observe(t, s, s.Person("owner"))
		o.storeBulk()
		var open []io.ReadCloser
		for range 3 {
			open = append(open, o.openExport())
		}
		answer := o.get("/traces/export")
		answer.ErrorFields(t, http.StatusTooManyRequests)
		if answer.Header.Get("Retry-After") == "" {
			t.Error("nobody says when to come back")
		}
		if other := observe(t, s, s.Person("other")); other.get("/traces/export").Status != http.StatusOK {
			t.Error("another organization has to wait too")
		}
		for _, body := range open {
			body.Close()
		}
		err := testserver.Eventually(func() error {
			if answer := o.Request(t, http.MethodHead, o.path("/traces/export"), "",
				testserver.Credentials(o.owner.Client)...); answer.Status != http.StatusOK {
				return fmt.Errorf("status %d", answer.Status)
			}
			return nil
		})
		if err != nil {
			t.Errorf("exports that were given up still count: %v", err)
		}
	})
}

// TestACutExportCanBeTold takes the database away in the middle of an export: its
// last line says so, and the connection breaks.
func TestACutExportCanBeTold(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := testserver.Start(t, options)
	o := observe(t, s, s.Person("owner"))
	traces := o.storeBulk()
	body := o.openExport()
	defer body.Close()
	line.Cut()
	defer line.Mend()
	rest, err := io.ReadAll(body)
	if err == nil {
		t.Error("the connection ended as if all were there")
	}
	lines, end := readLines(t, rest)
	if end.Complete || end.Message == "" || end.Lines == 0 || end.Lines >= traces || end.Lines != len(lines) {
		t.Errorf("%d lines, and the last says %+v", len(lines), end)
	}
	line.Mend()
	var more []byte
	err = testserver.Eventually(func() error {
		again, err := o.owner.ExportTraces(t.Context(), o.org, client.TraceExport{
			TraceFilter: client.TraceFilter{List: client.List{Cursor: end.Cursor}},
		})
		if err != nil {
			return err
		}
		defer again.Close()
		more, err = io.ReadAll(again)
		return err
	})
	if err != nil {
		t.Fatalf("continue the export: %v", err)
	}
	if _, last := readLines(t, more); !last.Complete || last.Lines+end.Lines != traces {
		t.Errorf("%d lines, and %+v, of %d traces", end.Lines, last, traces)
	}
}

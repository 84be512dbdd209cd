package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// TraceExport chooses what an export of traces holds, and its form.
type TraceExport struct {
	TraceFilter        // its Limit does not count; its Cursor continues an export that was cut
	Format      string // ndjson or csv; ndjson when empty
	Rows        string // traces or spans; traces when empty
}

// ExportTraces is an export of traces, of any length. The caller closes it. Its last
// line says whether it is complete; one that breaks is not.
func (c *Client) ExportTraces(ctx context.Context, orgID string, e TraceExport) (io.ReadCloser, error) {
	q := e.values()
	q.Del("limit")
	for name, value := range map[string]string{"format": e.Format, "rows": e.Rows} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return c.download(ctx, telemetryPath(orgID, "/traces/export"), q)
}

// ExportSessions is an export of sessions, as ExportTraces is one of traces.
func (c *Client) ExportSessions(ctx context.Context, orgID, format string, f SessionFilter) (io.ReadCloser, error) {
	q := f.values()
	q.Del("limit")
	if format != "" {
		q.Set("format", format)
	}
	return c.download(ctx, telemetryPath(orgID, "/sessions/export"), q)
}

// ExportTrace is a trace with all its spans as JSON. The caller closes it.
func (c *Client) ExportTrace(ctx context.Context, orgID, id string) (io.ReadCloser, error) {
	return c.download(ctx, telemetryPath(orgID, "/traces/"+segment(id)+"/export"), nil)
}

// ExportSession is a session with all its traces and their spans as JSON. The
// caller closes it.
func (c *Client) ExportSession(ctx context.Context, orgID, id string) (io.ReadCloser, error) {
	return c.download(ctx, telemetryPath(orgID, "/sessions/"+segment(id)+"/export"), nil)
}

// download is an answer of any length.
func (c *Client) download(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	request, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.send(request)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read the answer of GET %s: %w", path, err)
	}
	return nil, newError(response, content)
}

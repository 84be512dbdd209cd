package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// TraceExport chooses the traces and the form of an export.
type TraceExport struct {
	TraceFilter        // its Limit is ignored; its Cursor continues an export that was cut
	Format      string // ndjson or csv; ndjson when empty
	Rows        string // traces or spans; traces when empty
}

// ExportTraces is an export of traces, of any length. The caller closes it. Its last
// line says whether it is complete.
func (c *Client) ExportTraces(ctx context.Context, orgID string, e TraceExport) (io.ReadCloser, error) {
	e.Limit = 0
	return c.download(ctx, telemetryPath(orgID, "/traces/export"), e.values("format", e.Format, "rows", e.Rows))
}

// ExportSessions is an export of sessions, as ExportTraces is one of traces.
func (c *Client) ExportSessions(ctx context.Context, orgID, format string, f SessionFilter) (io.ReadCloser, error) {
	f.Limit = 0
	return c.download(ctx, telemetryPath(orgID, "/sessions/export"), f.values("format", format))
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

// download opens an answer of any length.
func (c *Client) download(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	request, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.open(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

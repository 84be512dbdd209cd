package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"writ/client"
	"writ/internal/demo"
	"writ/internal/fault"
)

// FillDemo fills an organization with demo data, by calling the routes with the access token of its owner.
func (a *API) FillDemo(ctx context.Context, accessToken, orgID string) error {
	owner := &client.Client{
		BaseURL:     a.publicURL,
		AccessToken: accessToken,
		HTTP:        &http.Client{Transport: inside{a}},
		UserAgent:   "writ demo",
	}
	err := demo.Fill(ctx, owner, orgID, a.database.Now)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.StatusCode == http.StatusTooManyRequests {
		busy := fault.Wrap(err, fault.TooMany, "the demo data could not be made: its owner has asked for too much")
		busy.RetryAfter = refused.RetryAfter
		return busy
	}
	return err
}

func (a *API) demoOutsideProduction(c Config) func(ctx context.Context, accessToken, orgID string) error {
	if !c.Documented {
		return nil
	}
	return func(ctx context.Context, accessToken, orgID string) error {
		err := a.FillDemo(ctx, accessToken, orgID)
		if err == nil && c.TelemetryBehind != nil {
			awaitFigures(ctx, c.TelemetryBehind)
		}
		return err
	}
}

// figuresWithin is how long a demo waits for its figures. One without them is still whole.
const figuresWithin = 10 * time.Second

// awaitFigures waits until telemetry has what was decided before now: who opens the demo reads its figures at once, and
// pages read them again after half a minute.
func awaitFigures(ctx context.Context, behind func() time.Duration) {
	began := time.Now()
	ctx, stop := context.WithTimeout(ctx, figuresWithin)
	defer stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for behind() > time.Since(began) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// inside answers requests by the routes of this process, without a connection.
type inside struct{ handler http.Handler }

// RoundTrip answers a request.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	request := r.Clone(r.Context())
	request.RemoteAddr, request.RequestURI = "127.0.0.1:0", r.URL.RequestURI()
	request.Host = r.URL.Host
	if request.Body == nil {
		request.Body = http.NoBody
	}
	answer := &kept{header: http.Header{}}
	t.handler.ServeHTTP(answer, request)
	return &http.Response{
		StatusCode: max(answer.status, http.StatusOK),
		Header:     answer.header,
		Body:       io.NopCloser(&answer.body),
		Request:    r,
	}, nil
}

// kept is an answer in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *kept) Write(p []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(p)
}

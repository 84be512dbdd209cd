package api

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"writ/client"
	"writ/internal/demo"
)

// FillDemo fills an organization with demo data, by calling the routes with the access token of its owner.
func (a *API) FillDemo(ctx context.Context, accessToken, orgID string) error {
	owner := &client.Client{
		BaseURL:     a.publicURL,
		AccessToken: accessToken,
		HTTP:        &http.Client{Transport: inside{a}},
		UserAgent:   "writ demo",
	}
	return demo.Fill(ctx, owner, orgID, a.database.Now)
}

func (a *API) demoOutsideProduction(c Config) func(ctx context.Context, accessToken, orgID string) error {
	if !c.Documented {
		return nil
	}
	return a.FillDemo
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// tokenLife is how long an access token is used; the server's live longer.
const tokenLife = 10 * time.Minute

// firstRun is what the first start on nothing leaves in the data folder.
type firstRun struct {
	Email          string `json:"email"`
	Password       string `json:"password"`
	OrganizationID string `json:"organizationId"`
	APIKey         string `json:"apiKey"`
}

func (i installation) firstRun() (first firstRun, err error) {
	content, err := os.ReadFile(filepath.Join(i.folder, "first-run.json"))
	if err != nil {
		return firstRun{}, fmt.Errorf("find the first API key (was the database empty?): %w", err)
	}
	if err := json.Unmarshal(content, &first); err != nil {
		return firstRun{}, fmt.Errorf("read the first API key: %w", err)
	}
	return first, nil
}

// account is a signed-in person with an organization and a key of it. It is for
// one goroutine, except ingest.
type account struct {
	server   *process
	first    firstRun
	org, key string
	token    string
	signedIn time.Time
	client   *http.Client
}

func signIn(ctx context.Context, i installation, server *process) (*account, error) {
	first, err := i.firstRun()
	if err != nil {
		return nil, err
	}
	a := &account{
		server: server,
		first:  first,
		org:    first.OrganizationID,
		key:    first.APIKey,
		client: newClient(),
	}
	return a, a.renewToken(ctx)
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
}

// renewToken signs in again when the token is about to expire.
func (a *account) renewToken(ctx context.Context) error {
	if time.Since(a.signedIn) < tokenLife {
		return nil
	}
	var tokens struct {
		AccessToken string `json:"accessToken"`
	}
	login := map[string]string{"email": a.first.Email, "password": a.first.Password}
	if err := a.do(ctx, http.MethodPost, "/auth/login", login, &tokens); err != nil {
		return err
	}
	a.token, a.signedIn = tokens.AccessToken, time.Now()
	return nil
}

// inNewOrganization is the same person in an organization of its own.
func (a *account) inNewOrganization(ctx context.Context, name string) (*account, error) {
	var org struct {
		ID string `json:"id"`
	}
	if err := a.do(ctx, http.MethodPost, "/organization", map[string]string{"name": name}, &org); err != nil {
		return nil, err
	}
	var key struct {
		APIKey string `json:"apiKey"`
	}
	if err := a.do(ctx, http.MethodPost, "/api-keys", map[string]string{"name": name, "organizationId": org.ID},
		&key); err != nil {
		return nil, err
	}
	other := *a
	other.org, other.key = org.ID, key.APIKey
	return &other, nil
}

// do sends a JSON document and reads the answer into a pointer, unless it is nil.
func (a *account) do(ctx context.Context, method, path string, document, answer any) error {
	var body io.Reader
	if document != nil {
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	text, err := a.send(ctx, method, path, "Authorization", "Bearer "+a.token, body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// current reads what the server says of the account's key.
func (a *account) current(ctx context.Context, answer any) error {
	text, err := a.send(ctx, http.MethodGet, "/api-keys/current", "X-Api-Key", a.key, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// get asks for a path of the organization's telemetry and drops the answer.
func (a *account) get(ctx context.Context, path string) error { return a.read(ctx, path, nil) }

// read asks for a path of the organization's telemetry.
func (a *account) read(ctx context.Context, path string, answer any) error {
	return a.do(ctx, http.MethodGet, "/organization/"+a.org+"/observability"+path, nil, answer)
}

// ingest sends a payload and accepts only that all of its traces are stored.
func (a *account) ingest(ctx context.Context, p *payload) error {
	text, err := a.send(ctx, http.MethodPost, "/observability/spans", "X-Api-Key", a.key, bytes.NewReader(p.text))
	if err != nil {
		return err
	}
	var result struct {
		Accepted int `json:"accepted"`
	}
	if err := json.Unmarshal(text, &result); err != nil || result.Accepted != len(p.traces) {
		return errors.Join(fmt.Errorf("%d of %d traces were accepted", result.Accepted, len(p.traces)), err)
	}
	return nil
}

func (a *account) send(ctx context.Context, method, path, header, value string, body io.Reader) ([]byte, error) {
	return a.sendWith(ctx, method, path, body, header, value)
}

// sendWith sends a request with headers, each a name and a value.
func (a *account) sendWith(
	ctx context.Context, method, path string, body io.Reader, headers ...string,
) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.server.address+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return text, nil
}

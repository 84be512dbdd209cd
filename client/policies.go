package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The media types of policy documents.
const (
	JSONDocument = "application/json"
	YAMLDocument = "application/yaml"
)

// PolicyState is what is known of a policy beside its document.
type PolicyState struct {
	ID             string     `json:"id"`
	OrganizationID string     `json:"organizationId"`
	Name           string     `json:"name"`
	PolicyVersion  int        `json:"policyVersion"`
	ActiveVersion  *int       `json:"activeVersion"`
	ShadowVersion  *int       `json:"shadowVersion"` // nil: none
	ShadowSince    *time.Time `json:"shadowSince"`
	Status         string     `json:"status"`
	Face           string     `json:"face"` // profile, or empty
	ActivatedAt    *time.Time `json:"activatedAt"`
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
}

// Policy is a policy with one of its versions.
type Policy struct {
	PolicyState
	Version      string          `json:"version"`
	Description  string          `json:"description"`
	Default      string          `json:"default"`
	Rules        []PolicyRule    `json:"rules"`
	Author       Author          `json:"author"`
	WrittenAt    time.Time       `json:"writtenAt"`
	Digest       string          `json:"digest"`
	RestoredFrom *int            `json:"restoredFrom"`
	Warnings     []PolicyProblem `json:"warnings"`
}

// PolicyRule is a rule of a policy.
type PolicyRule struct {
	ID          string           `json:"id"`
	Description string           `json:"description,omitempty"`
	Effect      string           `json:"effect"`
	Tools       []string         `json:"tools"`
	When        string           `json:"when,omitempty"`
	Limit       *PolicyLimit     `json:"limit,omitempty"`
	Approvers   *PolicyApprovers `json:"approvers,omitempty"`
	Message     string           `json:"message,omitempty"`
}

// PolicyLimit is how much a rule lets pass.
type PolicyLimit struct {
	Calls  int64   `json:"calls,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
	Per    string  `json:"per"`
	By     string  `json:"by"`
}

// PolicyApprovers is who must say yes to a call on hold.
type PolicyApprovers struct {
	Role  string `json:"role"`
	Count int    `json:"count"`
}

// PolicyProblem is something doubtful in a document.
type PolicyProblem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Rule    string `json:"rule"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Author is who wrote a version of a policy.
type Author struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// PolicyVersion is a version of a policy in a list.
type PolicyVersion struct {
	PolicyVersion int       `json:"policyVersion"`
	Author        Author    `json:"author"`
	WrittenAt     time.Time `json:"writtenAt"`
	Digest        string    `json:"digest"`
	RestoredFrom  *int      `json:"restoredFrom"`
	Rules         int       `json:"rules"`
}

// document sends a document as it is written and decodes the answer.
func document[T any](
	ctx context.Context, c *Client, method, path string, query url.Values, kind, text string,
) (out T, err error) {
	request, err := c.request(ctx, method, path, query, nil)
	if err != nil {
		return out, err
	}
	request.Body = io.NopCloser(bytes.NewReader([]byte(text)))
	request.ContentLength = int64(len(text))
	request.Header.Set("Content-Type", kind)
	content, err := c.exchange(request)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(content, &out); err != nil {
		return out, fmt.Errorf("decode the answer of %s %s: %w", method, path, err)
	}
	return out, nil
}

// inOrg is the query that names an organization, none for the caller's own.
func inOrg(orgID string) url.Values {
	if orgID == "" {
		return nil
	}
	return url.Values{"organizationId": {orgID}}
}

func policyPath(id, rest string) string { return "/policies/" + segment(id) + rest }

// CreatePolicy stores a document as a new policy, a draft.
func (c *Client) CreatePolicy(ctx context.Context, orgID, kind, text string) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPost, "/policies", inOrg(orgID), kind, text)
}

// UpdatePolicy stores a document as the latest version of a policy. Where expected
// is not 0 it must be the latest so far.
func (c *Client) UpdatePolicy(ctx context.Context, id, kind, text string, expected int) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPut, policyPath(id, ""), expecting(expected), kind, text)
}

// PatchPolicy is UpdatePolicy by another method.
func (c *Client) PatchPolicy(ctx context.Context, id, kind, text string, expected int) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPatch, policyPath(id, ""), expecting(expected), kind, text)
}

func expecting(version int) url.Values {
	if version == 0 {
		return nil
	}
	return url.Values{"policyVersion": {strconv.Itoa(version)}}
}

// ImportPolicy stores a document as the latest version of the policy of its name,
// or as a new one.
func (c *Client) ImportPolicy(ctx context.Context, orgID, kind, text string) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPost, "/policies/yaml/import", inOrg(orgID), kind, text)
}

// ValidatePolicy checks a document, and gives what is doubtful in it.
func (c *Client) ValidatePolicy(ctx context.Context, orgID, kind, text string) ([]PolicyProblem, error) {
	out, err := document[struct{ Warnings []PolicyProblem }](ctx, c, http.MethodPost, "/policies/validate",
		inOrg(orgID), kind, text)
	return out.Warnings, err
}

// ExportPolicy is a policy as YAML; the latest version where it is 0.
func (c *Client) ExportPolicy(ctx context.Context, id string, version int) (string, error) {
	query := url.Values{}
	if version != 0 {
		query.Set("version", strconv.Itoa(version))
	}
	request, err := c.request(ctx, http.MethodGet, "/policies/yaml/export/"+segment(id), query, nil)
	if err != nil {
		return "", err
	}
	content, err := c.exchange(request)
	return string(content), err
}

// PolicyFilter says which policies a list shows.
type PolicyFilter struct {
	OrganizationID string
	Status         string
	Name           string
}

// Policies lists a page of policies, newest first.
func (c *Client) Policies(ctx context.Context, f PolicyFilter, l List) (Page[PolicyState], error) {
	query := l.values()
	for name, value := range map[string]string{"organizationId": f.OrganizationID, "status": f.Status, "name": f.Name} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return call[Page[PolicyState]](ctx, c, http.MethodGet, "/policies", query, nil)
}

// Policy is a policy with its latest version.
func (c *Client) Policy(ctx context.Context, id string) (Policy, error) {
	return call[Policy](ctx, c, http.MethodGet, policyPath(id, ""), nil, nil)
}

// PolicyVersions lists a page of the versions of a policy, newest first.
func (c *Client) PolicyVersions(ctx context.Context, id string, l List) (Page[PolicyVersion], error) {
	return call[Page[PolicyVersion]](ctx, c, http.MethodGet, policyPath(id, "/versions"), l.values(), nil)
}

// PolicyAt is a policy with one of its versions.
func (c *Client) PolicyAt(ctx context.Context, id string, version int) (Policy, error) {
	return call[Policy](ctx, c, http.MethodGet, policyPath(id, "/versions/"+strconv.Itoa(version)), nil, nil)
}

// PolicyChange is a difference between two versions.
type PolicyChange struct {
	Kind  string `json:"kind"`
	Rule  string `json:"rule"`
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// DiffPolicy tells what changed from one version to another, the latest where it
// is 0.
func (c *Client) DiffPolicy(ctx context.Context, id string, from, to int) ([]PolicyChange, error) {
	query := url.Values{"from": {strconv.Itoa(from)}}
	if to != 0 {
		query.Set("to", strconv.Itoa(to))
	}
	out, err := call[struct{ Changes []PolicyChange }](ctx, c, http.MethodGet, policyPath(id, "/diff"), query, nil)
	return out.Changes, err
}

// ActivatePolicy has calls judged by a version of a policy, the latest where it
// is 0.
func (c *Client) ActivatePolicy(ctx context.Context, id string, version int) (Policy, error) {
	if version == 0 {
		return call[Policy](ctx, c, http.MethodPost, policyPath(id, "/activate"), nil, nil)
	}
	return call[Policy](ctx, c, http.MethodPost, policyPath(id, "/activate"), nil, map[string]int{"version": version})
}

// DeactivatePolicy stops judging calls by a policy.
func (c *Client) DeactivatePolicy(ctx context.Context, id string) (PolicyState, error) {
	return call[PolicyState](ctx, c, http.MethodPost, policyPath(id, "/deactivate"), nil, nil)
}

// StartShadow has a version of a policy run as a shadow, the latest where it is 0:
// what it would have led to is written down with every decision, and changes none.
func (c *Client) StartShadow(ctx context.Context, id string, version int) (Policy, error) {
	if version == 0 {
		return call[Policy](ctx, c, http.MethodPost, policyPath(id, "/shadow"), nil, nil)
	}
	return call[Policy](ctx, c, http.MethodPost, policyPath(id, "/shadow"), nil, map[string]int{"version": version})
}

// EndShadow ends the shadow of a policy.
func (c *Client) EndShadow(ctx context.Context, id string) (PolicyState, error) {
	return call[PolicyState](ctx, c, http.MethodDelete, policyPath(id, "/shadow"), nil, nil)
}

// RollbackPolicy makes an old version the latest again.
func (c *Client) RollbackPolicy(ctx context.Context, id string, version int) (Policy, error) {
	return call[Policy](ctx, c, http.MethodPost, policyPath(id, "/rollback"), nil, map[string]int{"version": version})
}

// DeletePolicy deletes a policy that is not active.
func (c *Client) DeletePolicy(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, policyPath(id, ""), nil, nil, nil)
}

// PolicySchema is the JSON schema of policies.
func (c *Client) PolicySchema(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, http.MethodGet, "/policies/schema", nil, nil)
}

// PolicyTemplate is a policy to begin with.
type PolicyTemplate struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Document    Policy `json:"document"`
}

// PolicyTemplates lists the policies to begin with.
func (c *Client) PolicyTemplates(ctx context.Context) ([]PolicyTemplate, error) {
	out, err := call[struct{ Items []PolicyTemplate }](ctx, c, http.MethodGet, "/policies/templates", nil, nil)
	return out.Items, err
}

// PolicyTemplate is a policy to begin with, as YAML.
func (c *Client) PolicyTemplate(ctx context.Context, name string) (string, error) {
	request, err := c.request(ctx, http.MethodGet, "/policies/yaml/templates/"+segment(name), nil, nil)
	if err != nil {
		return "", err
	}
	content, err := c.exchange(request)
	return string(content), err
}

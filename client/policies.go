package client

import (
	"bytes"
	"context"
	"encoding/json"
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
	Confine     *Confinement     `json:"confine,omitempty"`
	Otherwise   string           `json:"otherwise,omitempty"` // with Confine: deny, hold or allow
	Oblige      *Obligations     `json:"oblige,omitempty"`
	Approvers   *PolicyApprovers `json:"approvers,omitempty"`
	Message     string           `json:"message,omitempty"`
}

// Confinement is what a call is confined to: the directories that it may change and read, and the hosts that it may
// reach. A directory is absolute, or begins with workspace or ~; a host is HOST:PORT.
type Confinement struct {
	Write []string `json:"write,omitempty"`
	Read  []string `json:"read,omitempty"`
	Net   []string `json:"net,omitempty"`
	// Protect are directories that stay read-only where they lie inside those of Write.
	Protect []string `json:"protect,omitempty"`
}

// Obligations are what must be done with the result of a call: members that are left out, labels, how large it may be.
type Obligations struct {
	Redact   []string `json:"redact,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	MaxBytes int64    `json:"max_bytes,omitzero"`
}

// PolicyLimit is how much a rule allows.
type PolicyLimit struct {
	Calls  int64   `json:"calls,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
	Per    string  `json:"per"`
	By     string  `json:"by"`
}

// PolicyApprovers says who must approve a held call, and how many of them.
type PolicyApprovers struct {
	Role  string `json:"role"`
	Count int    `json:"count"`
}

// PolicyProblem is a warning about a document.
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

// document sends a document byte for byte and decodes the answer.
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
	err = c.decode(request, &out)
	return out, err
}

func policyPath(id, rest string) string { return "/policies/" + segment(id) + rest }

// CreatePolicy stores a document as a new policy, a draft.
func (c *Client) CreatePolicy(ctx context.Context, orgID, kind, text string) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPost, "/policies", inOrg(orgID), kind, text)
}

// UpdatePolicy stores a document as the latest version of a policy; if expected is
// not 0, only if that is the latest so far.
func (c *Client) UpdatePolicy(ctx context.Context, id, kind, text string, expected int) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPut, policyPath(id, ""), query("policyVersion", expected), kind, text)
}

// PatchPolicy is UpdatePolicy by another method.
func (c *Client) PatchPolicy(ctx context.Context, id, kind, text string, expected int) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPatch, policyPath(id, ""), query("policyVersion", expected), kind, text)
}

// ImportPolicy stores a document as the latest version of the policy with its name,
// or as a new policy.
func (c *Client) ImportPolicy(ctx context.Context, orgID, kind, text string) (Policy, error) {
	return document[Policy](ctx, c, http.MethodPost, "/policies/yaml/import", inOrg(orgID), kind, text)
}

// ValidatePolicy checks a document, and returns its warnings.
func (c *Client) ValidatePolicy(ctx context.Context, orgID, kind, text string) ([]PolicyProblem, error) {
	out, err := document[struct{ Warnings []PolicyProblem }](ctx, c, http.MethodPost, "/policies/validate",
		inOrg(orgID), kind, text)
	return out.Warnings, err
}

// CheckedPolicy is what a server says of a document without errors.
type CheckedPolicy struct {
	Document Policy          `json:"document"`
	Warnings []PolicyProblem `json:"warnings"`
	Findings []PolicyFinding `json:"findings"`
}

// CheckPolicy is ValidatePolicy, with all that the server says of the document.
func (c *Client) CheckPolicy(ctx context.Context, orgID, kind, text string) (CheckedPolicy, error) {
	return document[CheckedPolicy](ctx, c, http.MethodPost, "/policies/validate", inOrg(orgID), kind, text)
}

// ExportPolicy reads a version of a policy as YAML (0: the latest).
func (c *Client) ExportPolicy(ctx context.Context, id string, version int) (string, error) {
	return c.text(ctx, "/policies/yaml/export/"+segment(id), query("version", version))
}

// PolicyFilter chooses policies. An empty field chooses all.
type PolicyFilter struct {
	OrganizationID string
	Status         string
	Name           string
}

// Policies lists a page of policies, newest first.
func (c *Client) Policies(ctx context.Context, f PolicyFilter, l List) (Page[PolicyState], error) {
	return get[Page[PolicyState]](ctx, c, "/policies",
		l.with("organizationId", f.OrganizationID, "status", f.Status, "name", f.Name))
}

// Policy reads a policy with its latest version.
func (c *Client) Policy(ctx context.Context, id string) (Policy, error) {
	return get[Policy](ctx, c, policyPath(id, ""), nil)
}

// PolicyVersions lists a page of the versions of a policy, newest first.
func (c *Client) PolicyVersions(ctx context.Context, id string, l List) (Page[PolicyVersion], error) {
	return get[Page[PolicyVersion]](ctx, c, policyPath(id, "/versions"), l.with())
}

// PolicyAt reads a policy with one of its versions.
func (c *Client) PolicyAt(ctx context.Context, id string, version int) (Policy, error) {
	return get[Policy](ctx, c, policyPath(id, "/versions/"+strconv.Itoa(version)), nil)
}

// PolicyChange is a difference between two versions.
type PolicyChange struct {
	Kind  string `json:"kind"`
	Rule  string `json:"rule"`
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// DiffPolicy compares a version with another (0: the latest).
func (c *Client) DiffPolicy(ctx context.Context, id string, from, to int) ([]PolicyChange, error) {
	out, err := get[struct{ Changes []PolicyChange }](ctx, c, policyPath(id, "/diff"), query("from", from, "to", to))
	return out.Changes, err
}

// ActivatePolicy activates a version of a policy (0: the latest).
func (c *Client) ActivatePolicy(ctx context.Context, id string, version int) (Policy, error) {
	return post[Policy](ctx, c, policyPath(id, "/activate"), nil, oneVersion(version))
}

// oneVersion is a body that names a version, none for the latest.
func oneVersion(version int) any {
	if version == 0 {
		return nil
	}
	return map[string]int{"version": version}
}

// DeactivatePolicy ends the active version of a policy.
func (c *Client) DeactivatePolicy(ctx context.Context, id string) (PolicyState, error) {
	return post[PolicyState](ctx, c, policyPath(id, "/deactivate"), nil, nil)
}

// StartShadow runs a version of a policy (0: the latest) as a shadow: what it would
// decide is recorded with every decision, and changes none.
func (c *Client) StartShadow(ctx context.Context, id string, version int) (Policy, error) {
	return post[Policy](ctx, c, policyPath(id, "/shadow"), nil, oneVersion(version))
}

// EndShadow ends the shadow of a policy.
func (c *Client) EndShadow(ctx context.Context, id string) (PolicyState, error) {
	return call[PolicyState](ctx, c, http.MethodDelete, policyPath(id, "/shadow"), nil, nil)
}

// RollbackPolicy makes an old version the latest again.
func (c *Client) RollbackPolicy(ctx context.Context, id string, version int) (Policy, error) {
	return post[Policy](ctx, c, policyPath(id, "/rollback"), nil, map[string]int{"version": version})
}

// DeletePolicy deletes a policy that is not active.
func (c *Client) DeletePolicy(ctx context.Context, id string) error {
	return c.delete(ctx, policyPath(id, ""), nil)
}

// PolicySchema reads the JSON schema of policies.
func (c *Client) PolicySchema(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/policies/schema", nil)
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
	return list[PolicyTemplate](ctx, c, "/policies/templates", nil)
}

// PolicyTemplate reads a policy to begin with, as YAML.
func (c *Client) PolicyTemplate(ctx context.Context, name string) (string, error) {
	return c.text(ctx, "/policies/yaml/templates/"+segment(name), nil)
}

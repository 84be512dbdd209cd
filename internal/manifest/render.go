package manifest

import (
	"encoding/json"
	"time"

	"writ/internal/secret"
)

// written is a manifest as the specification writes it.
type written struct {
	Version     string          `json:"version"`
	Identity    writtenIdentity `json:"identity"`
	Environment string          `json:"environment"`
	Proxy       writtenProxy    `json:"proxy"`
	Servers     []writtenServer `json:"mcp_servers"`
	Policy      writtenPolicy   `json:"policy"`
	Intent      writtenIntent   `json:"intent"`
}

type writtenIdentity struct {
	APIKey  secret.Text `json:"api_key"`
	UserID  string      `json:"user_id"`
	AgentID string      `json:"agent_id"`
}

type writtenProxy struct {
	URL        string `json:"url,omitempty"`
	Timeout    int64  `json:"timeout"`
	MaxRetries int    `json:"max_retries"`
}

type writtenServer struct {
	ID          string      `json:"id"`
	URL         string      `json:"url"`
	Description string      `json:"description,omitempty"`
	Auth        writtenAuth `json:"auth"`
}

type writtenAuth struct {
	Type   AuthType     `json:"type"`
	Token  *secret.Text `json:"token,omitempty"`
	APIKey *secret.Text `json:"api_key,omitempty"`
	Header string       `json:"header_name,omitempty"`
}

type writtenPolicy struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

type writtenIntent struct {
	TTLSeconds  int64 `json:"ttl_seconds"`
	RequireCSRG bool  `json:"require_csrg"`
}

// MarshalJSON writes the manifest with its defaults. Secrets are hidden, and what it
// writes can be read again.
func (m *Manifest) MarshalJSON() ([]byte, error) {
	w := written{
		Version:     Version,
		Identity:    writtenIdentity(m.Identity),
		Environment: m.Environment,
		Proxy:       writtenProxy{m.Proxy.URL, int64(m.Proxy.Timeout / time.Second), m.Proxy.MaxRetries},
		Servers:     []writtenServer{},
		Policy:      writtenPolicy{append([]string{}, m.Allow...), append([]string{}, m.Deny...)},
		Intent:      writtenIntent{int64(m.PlanLife / time.Second), m.RequireProofs},
	}
	for _, s := range m.Servers {
		w.Servers = append(w.Servers, writtenServer{s.ID, s.URL, s.Description, s.Auth.written()})
	}
	return json.Marshal(w)
}

func (a *Auth) written() writtenAuth {
	w := writtenAuth{Type: a.Type, Header: a.Header}
	switch a.Type {
	case BearerAuth:
		w.Token = &a.Secret
	case KeyAuth:
		w.APIKey = &a.Secret
	}
	return w
}

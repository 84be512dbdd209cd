package source

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/mcp/definition"
	"writ/internal/mcp/scan"
)

// configured are the servers that a client's configuration lists, by name; nil: the object is no configuration.
func configured(object map[string]jsontext.Value) jsontext.Value {
	for _, name := range []string{"mcpServers", "context_servers"} {
		if list := object[name]; list != nil {
			return list
		}
	}
	if list := object["servers"]; list != nil && list.Kind() == '{' {
		return list
	}
	if nested := object["mcp"]; nested != nil && nested.Kind() == '{' {
		var inner struct {
			Servers jsontext.Value `json:"servers"`
		}
		if json.Unmarshal(nested, &inner) == nil && inner.Servers != nil {
			return inner.Servers
		}
	}
	return nil
}

// entry is a server in the configuration of a client. Clients name the same things differently.
type entry struct {
	Type         string            `json:"type"`
	Transport    string            `json:"transport"`
	URL          string            `json:"url"`
	HTTPURL      string            `json:"httpUrl"`
	ServerURL    string            `json:"serverUrl"`
	Command      jsontext.Value    `json:"command"`
	Args         []string          `json:"args"`
	Env          map[string]string `json:"env"`
	Headers      map[string]string `json:"headers"`
	Trust        bool              `json:"trust"`
	AlwaysAllow  []string          `json:"alwaysAllow"`
	AutoApprove  []string          `json:"autoApprove"`
	Instructions string            `json:"description"`
}

func readConfig(raw jsontext.Value) ([]scan.Settings, error) {
	var list map[string]jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the list of servers: must be an object of servers by name")
	}
	if len(list) > maxServers {
		return nil, fmt.Errorf("the list of servers: at most %d are permitted", maxServers)
	}
	all := make([]scan.Settings, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		var e entry
		if err := json.Unmarshal(list[name], &e); err != nil {
			return nil, fmt.Errorf("server %q: must be an object with command and args, or with url", name)
		}
		settings, err := e.settings(name)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", name, err)
		}
		all = append(all, settings)
	}
	return all, nil
}

func (e *entry) settings(name string) (scan.Settings, error) {
	command, err := e.command()
	if err != nil {
		return scan.Settings{}, err
	}
	s := &definition.Server{Name: name, Command: command}
	switch {
	case e.HTTPURL != "":
		s.URL, s.Transport = e.HTTPURL, definition.HTTP
	case e.URL != "" || e.ServerURL != "":
		s.URL, s.Transport = e.URL+e.ServerURL, definition.HTTP
		if e.Type == definition.SSE || e.Transport == definition.SSE {
			s.Transport = definition.SSE
		}
	case len(command) > 0:
		s.Transport = definition.Stdio
	default:
		return scan.Settings{}, fmt.Errorf("must have command or url")
	}
	s.Auth = authOf(e.Headers)
	return scan.Settings{
		Server:  s,
		Trusted: e.Trust || slices.Contains(e.AlwaysAllow, "*") || slices.Contains(e.AutoApprove, "*"),
		Secrets: writtenOut(e.Env, e.Headers),
	}, nil
}

// command is the program and its arguments; some clients write an object with both.
func (e *entry) command() ([]string, error) {
	if e.Command == nil {
		return nil, nil
	}
	var program string
	if json.Unmarshal(e.Command, &program) == nil {
		return append([]string{program}, e.Args...), nil
	}
	var object struct {
		Path string            `json:"path"`
		Args []string          `json:"args"`
		Env  map[string]string `json:"env"`
	}
	if err := json.Unmarshal(e.Command, &object); err != nil || object.Path == "" {
		return nil, fmt.Errorf("command: must be a text, or an object with path and args")
	}
	return append([]string{object.Path}, object.Args...), nil
}

// authOf is how a client signs in, by the headers that it sends. Without any it may sign in when it is asked.
func authOf(headers map[string]string) string {
	for name := range headers {
		switch strings.ToLower(name) {
		case "authorization":
			return definition.AuthBearer
		case "x-api-key", "api-key":
			return definition.AuthAPIKey
		}
	}
	return ""
}

// Auth is how somebody signs in to a server who sends these headers and nothing else.
func Auth(header http.Header) string {
	switch {
	case header.Get("Authorization") != "":
		return definition.AuthBearer
	case len(header) > 0:
		return definition.AuthAPIKey
	}
	return definition.AuthNone
}

// writtenOut are the variables and headers that hold a secret as it is, not a reference to one.
func writtenOut(settings ...map[string]string) (names []string) {
	for _, list := range settings {
		for name, value := range list {
			if scan.IsSecret(name, value) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

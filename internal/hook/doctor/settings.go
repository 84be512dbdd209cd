package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"writ/internal/hook/setup"
)

// layer is one of the files that the host makes its settings of.
type layer struct {
	name, path string
	counts     bool // in this folder
	values     values
	problem    error
}

// values are what doctors read of settings.
type values struct {
	HooksConfig hooksConfig
	Hooks       map[string]hooksOf
	MCP         struct {
		Allowed  *[]string
		Excluded []string
	}
	MCPServers map[string]any
	Tools      struct {
		DiscoveryCommand string
		CallCommand      string
		Sandbox          any
	}
	Security struct {
		FolderTrust       struct{ Enabled *bool }
		AllowedExtensions []string
	}
}

type hooksConfig struct {
	Enabled  *bool
	Disabled []string
}

// off reports whether they switch hooks of this name off.
func (c hooksConfig) off(name string) bool {
	return c.Enabled != nil && !*c.Enabled || slices.Contains(c.Disabled, name)
}

// hooksOf are the hooks of an event. Anything else that the member holds is passed over, as the host does.
type hooksOf []setup.Group

// UnmarshalJSON takes what is a list of groups.
func (h *hooksOf) UnmarshalJSON(text []byte) error {
	var groups []setup.Group
	if setup.Decode(string(text), &groups) == nil {
		*h = groups
	}
	return nil
}

// readLayers reads the settings in the order in which the host lays them over each other.
func (e *examination) readLayers() []layer {
	project := filepath.Join(e.Project, ".gemini", "settings.json")
	layers := []layer{
		{name: "system defaults", path: e.systemDefaults(), counts: true},
		{name: "user settings", path: e.Settings(), counts: true},
		{name: "project settings", path: project},
		{name: "system settings", path: e.system(), counts: true},
	}
	if filepath.Clean(project) == filepath.Clean(e.Settings()) {
		layers = slices.Delete(layers, 2, 3)
	}
	for i := range layers {
		l := &layers[i]
		text, err := os.ReadFile(l.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = setup.Decode(string(text), &l.values)
		}
		l.problem = err
	}
	return layers
}

// settings checks that the host reads its settings, and finds our hooks there as this version writes them.
func (e *examination) settings() {
	for _, l := range e.layers {
		if l.problem != nil {
			e.add("settings", Failed, fmt.Sprintf("the host cannot read its %s: %s: %v", l.name, l.path, l.problem),
				"mend the file; the host does not start until then")
			return
		}
	}
	if e.guard == nil {
		e.add("settings", Skipped, "the guard file says what they must hold", "")
		return
	}
	text, err := os.ReadFile(e.Settings())
	if err != nil {
		e.add("settings", Failed, "the user's settings have no hooks of Writ", initAgain)
		return
	}
	if missing := setup.Missing(string(text), e.guard); len(missing) > 0 {
		e.add("settings", Failed, "the hooks of "+strings.Join(missing, ", ")+" in "+e.Settings()+
			" are missing, or not as this version of writ writes them", initAgain)
		return
	}
	e.add("settings", OK, e.Settings(), "")
}

// installed reports whether anything is there that writ init writes. Settings that cannot be read may have our hooks.
func (e *examination) installed() bool {
	if exists(e.Guard()) || exists(e.Extension()) {
		return true
	}
	for _, l := range e.layers {
		if l.problem != nil {
			return true
		}
		for _, groups := range l.values.Hooks {
			for _, g := range groups {
				if slices.ContainsFunc(g.Hooks, setup.Entry.IsOurs) {
					return true
				}
			}
		}
	}
	return false
}

// switches checks for settings that switch hooks off, for all or by name.
func (e *examination) switches() {
	enabled, by, name := true, "", ""
	if e.guard != nil {
		name = setup.HookName(e.guard)
	}
	for _, l := range e.layers {
		if on := l.values.HooksConfig.Enabled; on != nil && l.counts {
			enabled, by = *on, l.path
		}
		if !l.counts && l.values.HooksConfig.off(name) {
			e.add("switches", Failed, l.path+" switches hooks off once this folder is trusted",
				"take hooksConfig out of that file before anybody trusts the folder")
			return
		}
		if name != "" && slices.Contains(l.values.HooksConfig.Disabled, name) {
			e.add("switches", Failed, "hooksConfig.disabled in "+l.path+" switches the hooks of Writ off",
				"take "+name+" out of hooksConfig.disabled")
			return
		}
	}
	if !enabled {
		e.add("switches", Failed, "hooksConfig.enabled in "+by+" switches all hooks off, without a word",
			"take hooksConfig.enabled out of that file, or set it to true in "+e.system())
		return
	}
	e.add("switches", OK, "no settings switch hooks off", "")
}

// planServer checks that the host starts our plan server, and no other by its name.
func (e *examination) planServer() {
	for _, l := range e.layers {
		v := l.values
		isOurs := func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), setup.Name) }
		problem, fix := "", ""
		switch {
		case !l.counts:
		case slices.ContainsFunc(v.MCP.Excluded, isOurs):
			problem, fix = "mcp.excluded in "+l.path+" keeps the plan server off",
				"take "+setup.Name+" out of mcp.excluded"
		case v.MCP.Allowed != nil && !slices.ContainsFunc(*v.MCP.Allowed, isOurs):
			problem, fix = "mcp.allowed in "+l.path+" does not name the plan server",
				"add "+setup.Name+" to mcp.allowed"
		case v.MCPServers[setup.Name] != nil:
			problem, fix = "mcpServers in "+l.path+" has another server by the name of the plan server",
				"give that server another name"
		}
		if problem != "" {
			e.add("plan server", Failed, problem+", so that no plan can be registered and no tool runs", fix)
			return
		}
	}
	var states map[string]struct{ Enabled *bool }
	text, err := os.ReadFile(filepath.Join(e.Gemini, "mcp-server-enablement.json"))
	if err == nil && setup.Decode(string(text), &states) == nil {
		if on := states[setup.Name].Enabled; on != nil && !*on {
			e.add("plan server", Failed, "it is switched off (mcp-server-enablement.json), so that no tool runs",
				"run gemini mcp enable "+setup.Name)
			return
		}
	}
	e.add("plan server", OK, "the host may start it", "")
}

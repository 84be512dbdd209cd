package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
)

// Name is that of the extension and of the plan server.
const Name = "writ"

// HookName is the name of our hooks, in the settings and in the extension: the host runs hooks of the same name and
// command once. A project's settings can switch hooks off by their names, so the name differs from machine to machine
// and follows from the key, which no project knows.
func HookName(guard *guardfile.File) string {
	sum := sha256.Sum256([]byte("name of hooks\x00" + guard.Key + "\x00" + guard.Path()))
	return Name + "-" + hex.EncodeToString(sum[:10])
}

// events are the hooks in the order in which settings show them.
var events = []struct {
	event hook.Event
	name  string // as the host calls it
}{
	{hook.SessionStart, gemini.SessionStart},
	{hook.BeforeAgent, gemini.BeforeAgent},
	{hook.BeforeToolSelection, gemini.BeforeToolSelection},
	{hook.BeforeTool, gemini.BeforeTool},
	{hook.AfterTool, gemini.AfterTool},
	{hook.SessionEnd, gemini.SessionEnd},
}

// Group is the host's form of hooks for an event.
type Group struct {
	Matcher string  `json:"matcher,omitempty"`
	Hooks   []Entry `json:"hooks"`
}

// Entry is a hook in the host's settings.
type Entry struct {
	Type    string            `json:"type"`
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Timeout int64             `json:"timeout"` // milliseconds
	Env     map[string]string `json:"env"`
}

// IsOurs reports whether a hook is one that writ init has written, now or in an earlier version.
func (e Entry) IsOurs() bool {
	return (e.Name == Name || strings.HasPrefix(e.Name, Name+"-")) && strings.Contains(e.Command, " hook --config ")
}

func groupOf(guard *guardfile.File, event hook.Event) Group {
	g := Group{Hooks: []Entry{{
		Type:    "command",
		Name:    HookName(guard),
		Command: Command(guard, event),
		Timeout: Timeout(guard, event).Milliseconds(),
		Env:     Environment(guard),
	}}}
	if event == hook.BeforeTool || event == hook.AfterTool {
		g.Matcher = "*" // for other events the host compares it with other things
	}
	return g
}

// Insert puts our hooks into the text of settings, and gives what was inserted. Everything else stays byte for byte.
func Insert(text string, guard *guardfile.File) (changed string, inserted []string, err error) {
	insertions, err := insertionsOf(text, guard)
	if err != nil {
		return "", nil, fmt.Errorf("the settings are not JSON that the host reads: %w", err)
	}
	places := make([]int, 0, len(insertions))
	for at := range insertions {
		places = append(places, at)
	}
	slices.Sort(places)
	lines := lineEnd(text)
	for _, at := range slices.Backward(places) {
		part := strings.ReplaceAll(insertions[at], "\n", lines)
		text = text[:at] + part + text[at:]
		inserted = append(inserted, part)
	}
	return text, inserted, nil
}

// CheckSettings says why Insert could not put hooks into the text of settings.
func CheckSettings(text string) error {
	if _, _, err := hooksOf(text); err != nil {
		return fmt.Errorf("the settings are not JSON that the host reads: %w", err)
	}
	return nil
}

// lineEnd is how the lines of a text end.
func lineEnd(text string) string {
	if at := strings.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// insertionsOf are the texts to insert, by their place. Each stands first in its object or list.
func insertionsOf(text string, guard *guardfile.File) (map[int]string, error) {
	top, hooks, err := hooksOf(text)
	if err != nil {
		return nil, err
	}
	if hooks == nil {
		return map[int]string{top.begin + 1: wholeHooks(guard) + comma(&top)}, nil
	}
	insertions := map[int]string{}
	var missing []string
	for _, e := range events {
		list := hooks.member(e.name)
		if list == nil {
			missing = append(missing, "\n    "+member(e.name, "    ", []Group{groupOf(guard, e.event)}))
			continue
		}
		insertions[list.begin+1] = "\n      " + marshal("      ", groupOf(guard, e.event)) + comma(list)
	}
	if len(missing) > 0 {
		insertions[hooks.begin+1] = strings.Join(missing, ",") + comma(hooks)
	}
	return insertions, nil
}

// hooksOf finds the member hooks of settings, nil if there is none. It must be one that the host takes for hooks.
func hooksOf(text string) (top node, hooks *node, err error) {
	if top, err = parse(text); err != nil {
		return top, nil, err
	}
	if err := once(&top, "hooks", ""); err != nil {
		return top, nil, err
	}
	hooks = top.member("hooks")
	if hooks == nil {
		return top, nil, nil
	}
	if hooks.kind != '{' {
		return top, nil, errors.New("hooks: a { is missing")
	}
	for _, event := range hooks.items {
		if err := once(hooks, event.name, "hooks."); err != nil {
			return top, nil, err
		}
		if isEvent(event.name) && event.value.kind != '[' {
			return top, nil, fmt.Errorf("hooks.%s: a [ is missing", event.name)
		}
	}
	return top, hooks, nil
}

// once refuses an object that has a member twice: the host takes the last one.
func once(n *node, name, prefix string) error {
	count := 0
	for _, it := range n.items {
		if it.name == name {
			count++
		}
	}
	if count > 1 {
		return fmt.Errorf("%s%s is there twice", prefix, name)
	}
	return nil
}

func isEvent(name string) bool {
	for _, e := range events {
		if e.name == name {
			return true
		}
	}
	return false
}

func wholeHooks(guard *guardfile.File) string {
	var members []string
	for _, e := range events {
		members = append(members, "\n    "+member(e.name, "    ", []Group{groupOf(guard, e.event)}))
	}
	return "\n  \"hooks\": {" + strings.Join(members, ",") + "\n  }"
}

func member(name, indent string, value any) string {
	return `"` + name + `": ` + marshal(indent, value)
}

func marshal(indent string, value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(indent, "  ")
	_ = encoder.Encode(value) // texts and numbers alone
	return strings.TrimSuffix(text.String(), "\n")
}

// comma is what stands behind an insertion.
func comma(n *node) string {
	if len(n.items) == 0 {
		return "\n"
	}
	return ","
}

// Missing are the events for which settings have not exactly our hook.
func Missing(text string, guard *guardfile.File) (missing []string) {
	var settings struct{ Hooks map[string]json.RawMessage }
	if Decode(text, &settings) != nil {
		settings.Hooks = nil
	}
	for _, e := range events {
		var groups []Group
		if Decode(string(settings.Hooks[e.name]), &groups) != nil || !slices.ContainsFunc(groups, func(g Group) bool {
			return reflect.DeepEqual(g, groupOf(guard, e.event))
		}) {
			missing = append(missing, e.name)
		}
	}
	return missing
}

package definition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
)

// Limits of a diff.
const (
	maxChanges   = 50
	maxShown     = 400 // bytes of a value
	contextRunes = 40  // on either side of what changed in a text
)

// Change is one difference between two definitions of a tool. Values are shown so that hidden characters can be seen;
// empty: there is none.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitzero"`
	After  string `json:"after,omitzero"`
}

// String is a change as a sentence.
func (c Change) String() string {
	switch {
	case c.Before == "" && c.After == "":
		return c.Path
	case c.Before == "":
		return c.Path + " was added: " + c.After
	case c.After == "":
		return c.Path + " was removed: " + c.Before
	}
	return c.Path + " was " + c.Before + " and is now " + c.After
}

// Diff is how a tool changed, place by place. It ends after the first changes and says how many more there are.
func Diff(before, after Tool) []Change {
	d := &differ{}
	d.text("name", before.Name, after.Name)
	d.text("title", before.Title, after.Title)
	d.text("description", before.Description, after.Description)
	d.value("inputSchema", normal(before.InputSchema), normal(after.InputSchema))
	d.value("outputSchema", normal(before.OutputSchema), normal(after.OutputSchema))
	d.value("annotations", normal(before.Annotations), normal(after.Annotations))
	if d.left > 0 {
		d.changes = append(d.changes, Change{Path: fmt.Sprintf("and %d more changes", d.left)})
	}
	return d.changes
}

type differ struct {
	changes []Change
	left    int // changes beyond the limit
}

func (d *differ) add(path, before, after string) {
	if len(d.changes) == maxChanges {
		d.left++
		return
	}
	d.changes = append(d.changes, Change{Path: Visible(path), Before: before, After: after})
}

// text compares two texts and shows what lies around the difference.
func (d *differ) text(path, before, after string) {
	switch {
	case before == after:
	case before == "" || after == "":
		d.add(path, quoted(before), quoted(after))
	default:
		from, to := around(before, after)
		d.add(path, quoted(from), quoted(to))
	}
}

func (d *differ) value(path string, before, after jsontext.Value) {
	switch {
	case string(before) == string(after):
	case before == nil || after == nil || before.Kind() != after.Kind():
		d.add(path, shown(before), shown(after))
	case before.Kind() == '{':
		d.object(path, before, after)
	case before.Kind() == '[':
		d.array(path, before, after)
	case before.Kind() == '"':
		d.text(path, textOf(before), textOf(after))
	default:
		d.add(path, shown(before), shown(after))
	}
}

func (d *differ) object(path string, before, after jsontext.Value) {
	var from, to map[string]jsontext.Value
	if json.Unmarshal(before, &from) != nil || json.Unmarshal(after, &to) != nil {
		d.add(path, shown(before), shown(after))
		return
	}
	all := maps.Clone(from)
	maps.Copy(all, to)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		d.value(path+"."+key, from[key], to[key])
	}
}

func (d *differ) array(path string, before, after jsontext.Value) {
	var from, to []jsontext.Value
	if json.Unmarshal(before, &from) != nil || json.Unmarshal(after, &to) != nil {
		d.add(path, shown(before), shown(after))
		return
	}
	for i := range max(len(from), len(to)) {
		var a, b jsontext.Value
		if i < len(from) {
			a = from[i]
		}
		if i < len(to) {
			b = to[i]
		}
		d.value(path+"["+strconv.Itoa(i)+"]", a, b)
	}
}

// normal is a JSON value in canonical form, so that spelling is no difference. What has no such form stays.
func normal(raw jsontext.Value) jsontext.Value {
	if raw == nil {
		return nil
	}
	if form, err := canonical.Transform(raw); err == nil {
		return form
	}
	return raw
}

func textOf(raw jsontext.Value) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

func shown(raw jsontext.Value) string {
	switch {
	case raw == nil:
		return ""
	case raw.Kind() == '"':
		return quoted(textOf(raw))
	}
	return Visible(cut(string(raw)))
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + Visible(cut(text)) + `"`
}

// around is the part of two texts in which they differ, with a little of what both share.
func around(before, after string) (string, string) {
	a, b := []rune(before), []rune(after)
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return part(a, start, end), part(b, start, end)
}

func part(text []rune, start, end int) string {
	from, to := max(0, start-contextRunes), min(len(text), len(text)-end+contextRunes)
	shown := string(text[from:to])
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(text) {
		shown += "…"
	}
	return shown
}

// cut keeps both ends of a long text: what was added to a description stands most often at its end.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	head := strings.ToValidUTF8(text[:maxShown/2], "")
	tail := strings.ToValidUTF8(text[len(text)-maxShown/2:], "")
	return fmt.Sprintf("%s … %d bytes … %s", head, len(text)-len(head)-len(tail), tail)
}

// Visible writes a text so that a person sees every character: those that are invisible, steer a terminal or turn the
// direction of text become escapes.
func Visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !unseen(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// unseen are characters that count as graphic and show nothing: fillers and marks that choose the form of a glyph.
func unseen(r rune) bool {
	return r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u2800' ||
		r >= '\ufe00' && r <= '\ufe0f' || r >= '\U000e0100' && r <= '\U000e01ef'
}

package carrier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/enforcement"
	"writ/internal/mcp/upstream"
	"writ/internal/obligation"
)

// isLeftOut says which members are left out as it was first written: by the whole path of each.
func isLeftOut(path, members []string) bool {
	fits := func(path []string) bool {
		for _, entry := range members {
			member := strings.Split(entry, ".")
			fits := len(member) <= len(path)
			for i := range member {
				fits = fits && (member[i] == "*" || member[i] == path[len(path)-len(member)+i])
			}
			if fits {
				return true
			}
		}
		return false
	}
	return fits(path) || fits(strings.Split(strings.Join(path, "."), "."))
}

// document makes a random JSON text, and the same without members.
type document struct {
	random  *rand.Rand
	members []string
	left    int // how many members were left out
}

// names are made of few, so that many members fit, and have dots at every place.
func (d *document) name() string {
	name := ""
	for range 1 + d.random.IntN(3) {
		name += []string{"a", "b", "c", ".", "..", "*", "a.b", ""}[d.random.IntN(8)]
	}
	return name
}

func (d *document) value(path []string, depth, within int) (text, want string) {
	kind := d.random.IntN(6)
	if depth == 0 {
		kind = 5
	}
	switch kind {
	case 0, 1, 2:
		var texts, wants []string
		for range d.random.IntN(4) {
			name := d.name()
			at := append(slices.Clone(path), name)
			text, want := d.value(at, depth-1, within)
			if isLeftOut(at, d.members) {
				want = redacted
				d.left++
			}
			texts = append(texts, strconv.Quote(name)+":"+text)
			wants = append(wants, strconv.Quote(name)+":"+want)
		}
		return "{" + strings.Join(texts, ",") + "}", "{" + strings.Join(wants, ",") + "}"
	case 3:
		first, wantFirst := d.value(path, depth-1, within)
		second, wantSecond := d.value(path, depth-1, within)
		return "[" + first + "," + second + "]", "[" + wantFirst + "," + wantSecond + "]"
	case 4:
		if within < maxWithin {
			text, want := d.value(path, depth-1, within+1)
			return strconv.Quote(text), strconv.Quote(want)
		}
	}
	return "1", "1"
}

// TestRedactionIsByTheWholePath compares documents with what the whole path of each member says.
func TestRedactionIsByTheWholePath(t *testing.T) {
	t.Parallel()
	left := 0
	for seed := range uint64(5000) {
		d := &document{random: rand.New(rand.NewPCG(seed, 1))}
		for range 1 + d.random.IntN(3) {
			names := make([]string, 1+d.random.IntN(4))
			for i := range names {
				names[i] = []string{"a", "b", "c", "*"}[d.random.IntN(4)]
			}
			d.members = append(d.members, strings.Join(names, "."))
		}
		text, want := d.value(nil, 6, 0)
		got, err := redactJSON(t.Context(), []byte(text), d.members, nil)
		if err != nil || string(got) != want {
			t.Fatalf("seed %d, members %q\n%s\ngave %s, %v\nwant %s", seed, d.members, text, got, err, want)
		}
		left += d.left
	}
	if left < 3000 {
		t.Errorf("only %d members were left out of all documents", left)
	}
}

// TestMembersOfDeepTexts are left out, or withheld with the text where no deeper one is read, however they are spelt.
func TestMembersOfDeepTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"ssn":"071"}`, `"{\"ssn\":\"071\"}"`, `"\u007b\"ssn\":\"071\"\u007d"`, `["\u007b\"ssn\":\"071\"}"]`,
	} {
		for range 2 * maxWithin {
			made, err := redactJSON(t.Context(), []byte(`{"a":`+strconv.Quote(text)+`}`), []string{"ssn"}, nil)
			if err != nil || strings.Contains(string(made), "071") {
				t.Errorf("%s: %s, %v", text, made, err)
			}
			text = strconv.Quote(text)
		}
	}
}

// TestLongNamesAreReadOnce: a server that chooses long names, or names of many dots, for what many members are in must
// not have them copied or cut for each. It runs alone: what others allocate would count.
func TestLongNamesAreReadOnce(t *testing.T) {
	for name, long := range map[string]string{
		"long": strings.Repeat("n", 200<<10), "dots": strings.Repeat(".", 200<<10),
	} {
		for _, member := range []string{"ssn", "customer.ssn", "a.*.b.ssn"} {
			text := []byte(`{"` + long + `":{` + strings.Repeat(`"a":1,`, 2000) + `"ssn":1}}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			made, err := redactJSON(t.Context(), text, []string{member}, nil)
			runtime.ReadMemStats(&after)
			if err != nil || len(made) < len(long) {
				t.Fatalf("%s, %s: %d bytes, %v", name, member, len(made), err)
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(30*len(text)) {
				t.Errorf("%s, %s: %d bytes were allocated for a text of %d", name, member, bytes, len(text))
			}
		}
	}
	if parts := appendParts(nil, strings.Repeat("a.", 1<<20)+"b", 3); fmt.Sprint(parts) != "[a a b]" {
		t.Errorf("%d parts are kept of a long name", len(parts))
	}
}

// TestNobodyWaitsForTheResult: it is not worked on when the call has ended, and nobody gets it as it is.
func TestNobodyWaitsForTheResult(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	if made, err := redactJSON(ended, []byte(`{"a":{"b":1}}`), []string{"ssn"}, nil); err == nil {
		t.Errorf("a text is read: %s", made)
	}
	for _, result := range []any{
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"ssn":"071"}`}}},
		&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a:b", Text: `{"ssn":"071"}`}}},
	} {
		o := Outcome{Answer: enforcement.Answer{Oblige: &obligation.Set{Redact: []string{"ssn"}}}, Result: result}
		o.write("bank")
		if err := o.oblige(ended, "bank", false); err != nil {
			t.Error(err)
		}
		told := string(o.Output)
		if o.Failure != nil {
			told += o.Failure.Reason
		}
		if strings.Contains(told, "071") || !strings.Contains(told, "the call has ended before") {
			t.Errorf("%T: %s", result, told)
		}
		if o.Failure != nil && (o.Failure.Kind != upstream.TooLong || !o.Failure.Sent) {
			t.Errorf("%T: %+v", result, o.Failure)
		}
	}
	o := Outcome{Answer: enforcement.Answer{Oblige: &obligation.Set{Labels: []string{"x"}}}, Result: Done{}}
	o.write("bank")
	if err := o.oblige(ended, "bank", false); err != nil || o.Failure != nil {
		t.Errorf("what is only labelled: %+v, %v", o.Failure, err)
	}
}

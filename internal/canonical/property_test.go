package canonical_test

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"writ/internal/canonical"
)

// tree draws a JSON value with objects as lists of members, so that the same
// value can be written in many orders.
type tree struct {
	scalar  string // JSON text; used when there are neither items nor members
	items   []tree
	members []treeMember
}

type treeMember struct {
	key   string
	value tree
}

func drawTree(t *rapid.T, depth int) tree {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		n := rapid.IntRange(1, 4).Draw(t, "items")
		var v tree
		for range n {
			v.items = append(v.items, drawTree(t, depth-1))
		}
		return v
	case kind == 1 && depth > 0:
		var v tree
		for _, key := range rapid.SliceOfNDistinct(rapid.String(), 1, 5, rapid.ID[string]).Draw(t, "keys") {
			v.members = append(v.members, treeMember{key, drawTree(t, depth-1)})
		}
		return v
	case kind == 2:
		return tree{scalar: strconv.FormatFloat(rapid.Float64().Draw(t, "float"), 'g', -1, 64)}
	case kind == 3:
		return tree{scalar: strconv.FormatInt(rapid.Int64().Draw(t, "integer"), 10)}
	case kind == 4:
		return tree{scalar: quote(rapid.String().Draw(t, "text"))}
	}
	return tree{scalar: rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]"}).Draw(t, "literal")}
}

func quote(text string) string {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		panic(err) // rapid draws valid UTF-8 only
	}
	return string(quoted)
}

// write gives JSON text of the tree, its members in an order that order gives.
func (v tree) write(order func(n int) []int) string {
	var parts []string
	switch {
	case v.items != nil:
		for _, item := range v.items {
			parts = append(parts, item.write(order))
		}
		return "[" + strings.Join(parts, " , ") + "]"
	case v.members != nil:
		for _, i := range order(len(v.members)) {
			parts = append(parts, quote(v.members[i].key)+" : "+v.members[i].value.write(order))
		}
		return "{" + strings.Join(parts, "\n,") + "}"
	}
	return v.scalar
}

func TestOneFormForOneValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawTree(t, 4)
		seed := rapid.Uint64().Draw(t, "seed")
		one := transform(t, v.write(rand.New(rand.NewPCG(seed, 1)).Perm))
		two := transform(t, v.write(rand.New(rand.NewPCG(seed, 2)).Perm))
		if !bytes.Equal(one, two) {
			t.Errorf("the order of members matters:\n%s\n%s", one, two)
		}
		if again := transform(t, string(one)); !bytes.Equal(one, again) {
			t.Errorf("a second time differs:\n%s\n%s", one, again)
		}
	})
}

func transform(t *rapid.T, text string) []byte {
	got, err := canonical.Transform([]byte(text))
	if err != nil {
		t.Fatalf("Transform(%q): %v", text, err)
	}
	return got
}

func FuzzTransform(f *testing.F) {
	for _, seed := range []string{
		``, `null`, vectorPayload, vectorCanonical, `{"b":1,"a":[1e2,-0.0,1e-7,0.000001]}`,
		`{"\u0061":"\ud83d\ude00","a":1}`, `"\ud800"`, "\"\xff\x7f\"", `1e999`, `1234567890123456789012.5`,
		`{"z":{"y":1,"x":2},"é":3,"\n":4}`, `[[[]]]`, `{"a":1,}`, `1 2`, `{1:2}`, `{[]:1}`, `[}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		given := bytes.Clone(raw)
		got, err := canonical.Transform(raw)
		if !bytes.Equal(raw, given) {
			t.Fatalf("the input %q became %q", given, raw)
		}
		if err != nil {
			return
		}
		if !stdjson.Valid(raw) || !stdjson.Valid(got) {
			t.Fatalf("Transform(%q) = %q, of which one is not JSON", raw, got)
		}
		for i, c := range got {
			if c < ' ' || c > '~' {
				t.Fatalf("byte %d of %q is not printable ASCII", i, got)
			}
		}
		again, err := canonical.Transform(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q is no fixed point: %q, %v", got, again, err)
		}
	})
}

func BenchmarkTransform(b *testing.B) {
	var steps []string
	for i := range 40 {
		steps = append(steps, `{"tool":"charge","mcp":"Stripe","params":{"amount":`+strconv.Itoa(i)+
			`,"currency":"eur","note":"Zahlung für März"},"action":"charge","description":"Call charge on Stripe"}`)
	}
	large := `{"steps":[` + strings.Join(steps, ",") + `],"goal":"pay the bills"}`
	cases := map[string]string{"token": vectorPayload, "token in order": vectorCanonical, "plan of 40 steps": large}
	for name, text := range cases {
		b.Run(name, func(b *testing.B) {
			raw := []byte(text)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canonical.Transform(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

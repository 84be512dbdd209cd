package canonical_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/canonical"
)

// An object whose members are given in order is what Marshal makes of them.
func TestObject(t *testing.T) {
	t.Parallel()
	type inner struct {
		A string `json:"a"`
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		number := rapid.Int64().Draw(t, "number")
		truth := rapid.Bool().Draw(t, "truth")
		o := canonical.NewObject(1)
		o.Begin("empty")
		o.End()
		o.Begin("inner")
		o.String("a", text)
		o.End()
		o.Null("none")
		o.Integer("number", number)
		o.Optional("optional", text)
		o.Bool("truth", truth)
		o.Value("value", func(out []byte) []byte { return append(out, "[1]"...) })
		got, err := o.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		want, err := canonical.Marshal(struct {
			Empty    struct{} `json:"empty"`
			Inner    inner    `json:"inner"`
			None     *int     `json:"none"`
			Number   int64    `json:"number"`
			Optional string   `json:"optional,omitzero"`
			Truth    bool     `json:"truth"`
			Value    []int    `json:"value"`
		}{
			Inner:    inner{text},
			Number:   number,
			Optional: text,
			Truth:    truth,
			Value:    []int{1},
		})
		if err != nil || string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s (%v)", got, want, err)
		}
	})
}

func TestObjectOfNothing(t *testing.T) {
	t.Parallel()
	if got, err := canonical.NewObject(0).Bytes(); err != nil || string(got) != "{}" {
		t.Errorf("got %s, %v", got, err)
	}
}

// One text that is none spoils the whole, and the error does not show it.
func TestObjectRefusesInvalidText(t *testing.T) {
	t.Parallel()
	o := canonical.NewObject(16)
	o.String("a", "secret\xff")
	o.String("b", "x")
	if got, err := o.Bytes(); err == nil || got != nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %s, %v", got, err)
	}
}

package page_test

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/page"
)

var sample = page.Cursor{List: "traces", Scope: "org-1", Micros: 1_700_000_000_123_456, ID: "trace-1"}

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]page.Cursor{
		"usual":         sample,
		"zero time":     {List: "traces", Scope: "org-1", ID: "x"},
		"before 1970":   {List: "traces", Scope: "org-1", Micros: -1, ID: "x"},
		"first instant": {List: "traces", Scope: "org-1", Micros: math.MinInt64, ID: "x"},
		"last instant":  {List: "traces", Scope: "org-1", Micros: math.MaxInt64, ID: "x"},
		"no scope":      {List: "organizations", Micros: 1, ID: "x"},
		"longest id":    {List: "traces", Scope: "org-1", Micros: 1, ID: strings.Repeat("x", 200)},
		"odd id":        {List: "traces", Scope: "org-1", Micros: 1, ID: "é/😀\n\"%_' --"},
		"long names":    {List: strings.Repeat("l", 1000), Scope: strings.Repeat("s", 1000), Micros: 1, ID: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := give.Encode()
			got, err := page.Decode(text, give.List, give.Scope)
			if err != nil {
				t.Fatalf("Decode(%q): %v", text, err)
			}
			if diff := cmp.Diff(give, got); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
			if len(text) > 512 || strings.ContainsAny(text, "+/=&?# ") {
				t.Errorf("text %q is not fit for a query", text)
			}
		})
	}
}

// A cursor must outlive an upgrade of the server: change the version with the
// layout, and then this text.
func TestCursorLayout(t *testing.T) {
	t.Parallel()
	const want = "AoDPDbVbPmcnAAYKJBggIkB0cmFjZS0x"
	if got := sample.Encode(); got != want {
		t.Errorf("Encode = %q, want %q", got, want)
	}
}

func TestZeroCursor(t *testing.T) {
	t.Parallel()
	got, err := page.Decode("", "traces", "org-1")
	if err != nil || !got.IsZero() {
		t.Errorf("Decode of nothing = %+v, %v; want the zero cursor", got, err)
	}
	if sample.IsZero() {
		t.Error("a cursor with an id is zero")
	}
	if text := (page.Cursor{List: "traces"}).Encode(); text != "" {
		t.Errorf("the zero cursor is %q, want empty", text)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	text := sample.Encode()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	// with gives a cursor of another id whose checksum is right, so that nothing else refuses it.
	with := func(id string) string {
		c := sample
		c.ID = id
		if id == "" {
			return base64.RawURLEncoding.EncodeToString(raw[:17])
		}
		return c.Encode()
	}
	if with(sample.ID) != text {
		t.Fatal("the layout is not as this test supposes")
	}
	next := append([]byte{3}, raw[1:]...)

	tests := []struct{ name, text, list, scope string }{
		{"another list", text, "sessions", "org-1"},
		{"another scope", text, "traces", "org-2"},
		{"no scope", text, "traces", ""},
		{"boundary moved", text, "tracesorg", "-1"},
		{"not base64", "not a cursor!", "traces", "org-1"},
		{"a space", " ", "traces", "org-1"},
		{"one character", "A", "traces", "org-1"},
		{"padded", text + "=", "traces", "org-1"},
		{"line break inside", text[:8] + "\n" + text[8:], "traces", "org-1"},
		{"line break after", text + "\r\n", "traces", "org-1"},
		{"cut", text[:len(text)/2], "traces", "org-1"},
		{"changed version", base64.RawURLEncoding.EncodeToString(next), "traces", "org-1"},
		{"stray bits", (page.Cursor{List: "traces", Scope: "org-1", ID: "ab"}).Encode()[:25] + "j", "traces", "org-1"},
		{"no id", with(""), "traces", "org-1"},
		{"id too long", with(strings.Repeat("x", 201)), "traces", "org-1"},
		{"id not UTF-8", with("\xff"), "traces", "org-1"},
		{"id with NUL", with("a\x00"), "traces", "org-1"},
		{"oversized", strings.Repeat("A", 513), "traces", "org-1"},
		{"far oversized", strings.Repeat("A", 1<<20), "traces", "org-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := page.Decode(tt.text, tt.list, tt.scope)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok {
				t.Fatalf("Decode = %+v, %v; want a fault", got, err)
			}
			if f.Kind != fault.Invalid || f.Error() != "Invalid cursor" || f.Details != nil {
				t.Errorf("fault = %+v, want Invalid, %q, no details", f, "Invalid cursor")
			}
			if got != (page.Cursor{}) {
				t.Errorf("cursor %+v beside the error", got)
			}
		})
	}
}

// A cursor from which letters were cut, or in which one was changed, is not one that we issued.
func TestDecodeRefusesEveryChange(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"trace-1", "0190a0a0-0000-7000-8000-00000000000a", strings.Repeat("x", 200), "17"} {
		c := sample
		c.ID = id
		text := c.Encode()
		refused := func(changed string) {
			if got, err := page.Decode(changed, c.List, c.Scope); changed != text && !fault.Is(err, fault.Invalid) {
				t.Errorf("%q, made of %q, is %+v, %v", changed, text, got, err)
			}
		}
		for from := range len(text) {
			refused(text[:from] + "A" + text[from+1:])
			refused(text[:from] + "A" + text[from:])
			for to := from + 1; to <= len(text); to++ {
				if changed := text[:from] + text[to:]; changed != "" {
					refused(changed)
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	text := sample.Encode()
	for _, seed := range []string{"", text, text + "=", text[:20], text[:8] + "\n" + text[8:], "AAAA", "\xff"} {
		f.Add(seed, "traces", "org-1")
		f.Add(seed, "", "")
	}
	f.Fuzz(func(t *testing.T, text, list, scope string) {
		got, err := page.Decode(text, list, scope)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("Decode(%q) = %v, want an Invalid fault", text, err)
			}
			return
		}
		if again := got.Encode(); again != text {
			t.Fatalf("Decode(%q) encodes to %q", text, again)
		}
		if got.IsZero() != (text == "") {
			t.Fatalf("Decode(%q) = %+v", text, got)
		}
	})
}

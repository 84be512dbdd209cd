package csvsafe_test

import (
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/csvsafe"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                     {"", ""},
		"words":                       {"read a file", "read a file"},
		"a dash within":               {"claude-sonnet", "claude-sonnet"},
		"a formula":                   {"=1+1", "'=1+1"},
		"a plus":                      {"+1", "'+1"},
		"a minus":                     {"-1", "'-1"},
		"a function":                  {"@SUM(A1)", "'@SUM(A1)"},
		"a program":                   {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
		"a tab before":                {"\t=1", "'\t'=1"},
		"a carriage return before":    {"\r=1", "'\r'=1"},
		"a line break before":         {"\n=1", "'\n'=1"},
		"full-width equals":           {"\uff1d1", "'\uff1d1"},
		"full-width plus":             {"\uff0b1", "'\uff0b1"},
		"full-width minus":            {"\uff0d1", "'\uff0d1"},
		"full-width at":               {"\uff20A", "'\uff20A"},
		"blanks before":               {"  =1", "'  =1"},
		"blanks that nobody sees":     {"\ufeff\u200b\u00a0=1", "'\ufeff\u200b\u00a0=1"},
		"a quote before":              {`"=1"`, `'"=1"`},
		"an apostrophe of its own":    {"'=1", "''=1"},
		"an apostrophe before a word": {"'tis", "'tis"},
		"after a semicolon":           {"a;=1", "a;'=1"},
		"after a semicolon, quoted":   {`a;"=1`, `a;'"=1`},
		"after a line break":          {"a\n-b", "a\n'-b"},
		"after a comma":               {"a,=1", "a,=1"}, // which our quotes hold
		"no UTF-8":                    {"\xff=1", "\xff=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := csvsafe.Safe(c.text); got != c.want {
				t.Errorf("Safe(%q) = %q, want %q", c.text, got, c.want)
			}
			if got := csvsafe.Original(c.want); got != c.text {
				t.Errorf("Original(%q) = %q, want %q", c.want, got, c.text)
			}
		})
	}
}

func TestRowIsReadBack(t *testing.T) {
	t.Parallel()
	var row csvsafe.Row
	row.Text(`say "hi", then
=leave()`)
	row.JSON(`{"a":"x;=1",` + "\n\t" + `"b":[1,-2]}`)
	row.Number(-5)
	row.Decimal(0.000000125)
	row.Empty()
	row.Time(time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC))
	if row.Cells() != 6 {
		t.Errorf("%d cells, want 6", row.Cells())
	}
	table := string(row.End())
	row.Text("next")
	table += string(row.End())

	reader := csv.NewReader(strings.NewReader(table))
	reader.FieldsPerRecord = -1
	lines, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{
			"say \"hi\", then\n'=leave()", `{"a":"x\u003b=1",  "b":[1,-2]}`, "-5", "0.000000125", "",
			"2030-01-02T03:04:05.000006Z",
		},
		{"next"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

// FuzzText: no text becomes a cell that is a formula, with the separator of any
// country, and none is lost.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "=1", "a;=1", "'=1", `";"=1`, "\t\r\n=", "\uff1d", ";;-", "' \"'+"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		safe := csvsafe.Safe(text)
		if got := csvsafe.Original(safe); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
		for _, part := range strings.FieldsFunc(safe, func(c rune) bool { return strings.ContainsRune(";\t\r\n", c) }) {
			if cell := strings.TrimLeft(part, `" `); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
				t.Fatalf("%q holds the cell %q", safe, cell)
			}
		}
	})
}

// FuzzJSON: JSON means the same afterwards, and holds nothing that ends a cell.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":";","b":"\\;"}`)
	f.Add("{\n\t\"a\": -1\r\n}")
	f.Fuzz(func(t *testing.T, text string) {
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		var row csvsafe.Row
		row.JSON(text)
		line := string(row.End())
		if strings.ContainsAny(strings.TrimSuffix(line, "\r\n"), ";\t\r\n") {
			t.Fatalf("%q ends a cell", line)
		}
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(cells[0]), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q: %v", text, cells[0], err)
		}
	})
}

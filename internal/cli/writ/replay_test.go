package writ

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/cli"
)

// TestReplaysArePrinted: names come from agents, and cannot move what is printed.
func TestReplaysArePrinted(t *testing.T) {
	t.Parallel()
	var job client.Replay
	if err := json.Unmarshal([]byte(`{"state":"done","report":{"counts":{"judged":12,"stricter":9,"unchanged":2,"unknown":1,"intent":3},"leftOut":4,"changes":[
		{"agent":"coder","server":"bank","tool":"pay","recorded":"allow","today":"allow","drafted":"deny","rule":"large","count":9,"examples":[{"decisionId":"d1"}]},
		{"agent":"coder","server":"bank","tool":"close","recorded":"allow","today":"hold","drafted":"hold","rule":"large","count":2,"examples":[{"decisionId":"d2"}]},
		{"agent":"a\u001b[2J","server":"s","tool":"t","recorded":"hold","today":"allow","drafted":"unknown","count":1,"examples":[]}]}}`), &job); err != nil {
		t.Fatal(err)
	}
	var out, words bytes.Buffer
	if err := printReplay(cli.Streams{Out: &out, Err: &words}, job); err != nil {
		t.Fatal(err)
	}
	want := "12 calls judged: 9 stricter, 0 looser, 2 unchanged, 1 unknown\n" +
		"left out: 3 calls that no policy decided\n" +
		"2 get another answer today than was recorded, with the draft as without it; --json lists them\n" +
		"CALLS  AGENT  TOOL      RECORDED  TODAY  DRAFT    RULE   EXAMPLE\n" +
		"9      coder  bank.pay  allow     allow  deny     large  d1\n" +
		"1      " + cli.Line("a\x1b[2J") + "   s.t       hold      allow  unknown         \n"
	if bytes.ContainsRune(out.Bytes(), '\x1b') {
		t.Errorf("an escape sequence was printed: %q", out.String())
	}
	if diff := cmp.Diff(bytes.Fields([]byte(want)), bytes.Fields(out.Bytes())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if words.String() != "writ: 4 more calls change, of kinds that are not listed\n" {
		t.Errorf("words: %q", words.String())
	}
}

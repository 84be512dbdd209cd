package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/principal"
)

// independent is a verifier in another language, written from docs/audit-log-format.md.
const independent = "../../test/evidence/verify.mjs"

// verified is what it says of a file.
type verified struct {
	File     string `json:"file"`
	Verified bool   `json:"verified"`
	Trusted  bool   `json:"trusted"` // by a key from elsewhere
	Problem  string `json:"problem"`
	Size     int64  `json:"size"`
	Root     string `json:"root"`
	Payloads *int64 `json:"payloads"` // nil: the export has none, and does not tell what was erased
	Erased   *int64 `json:"erased"`
}

// runIndependent has it verify files, by their names.
func runIndependent(t *testing.T, folder string, files map[string][]byte, options ...string) map[string]verified {
	t.Helper()
	args := append([]string{independent}, options...)
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	var problems bytes.Buffer
	command := exec.CommandContext(t.Context(), "node", args...)
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil && problems.Len() > 0 {
		t.Fatalf("node: %v: %s", err, problems.String())
	}
	results := map[string]verified{}
	for line := range bytes.Lines(output) {
		var v verified
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("node printed %q: %v", line, err)
		}
		results[v.File] = v
	}
	return results
}

// variedLog is a log with everything that an export can hold.
func variedLog(t *testing.T, o database.Options) (*database.DB, *audit.Service) {
	t.Helper()
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Now = c.Now
	db := dbtest.Open(t, o)
	s := open(t, db)
	fill(t, db, s.Log, "org", 0, 300)
	odd := decision("org", 300)
	odd.Decision.Tool = "mcp__é\n\"😀,\"record\":{\"action\":\""
	odd.Payload = map[string]any{
		"record": map[string]any{"action": "x"}, "big": json.Number("12345678901234567890"), "text": "ü\u2028\x7f",
	}
	plain := decision("org", 301)
	plain.Payload = nil
	mustDecide(t, db, s.Log, odd, plain)
	if err := s.ErasePayload(t.Context(), owner, "org", 299, "asked for"); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(48 * time.Hour)
	fill(t, db, s.Log, "org", 302, 20)
	if err := s.RetirePayloads(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), database.Change{Logs: []string{"org"}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.BeginEpoch(ctx, tx, "org", audit.Lost{Known: true, Entries: 2})
	}})
	if err != nil {
		t.Fatal(err)
	}
	mustDecide(t, db, s.Log, odd, plain)
	return db, s
}

func exported(t *testing.T, s *audit.Service, o audit.ExportOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(t.Context(), &out, "org", o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAnIndependentVerifierAgrees has a second implementation verify what the server
// exports, and find what was tampered with.
func TestAnIndependentVerifierAgrees(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		_, s := variedLog(t, o)
		folder := t.TempDir()
		key := filepath.Join(folder, "key.txt")
		if err := os.WriteFile(key, []byte(s.PublicKey()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		whole := exported(t, s, audit.ExportOptions{})
		report, err := ledger.Verify(bytes.NewReader(whole), ledger.Trust{Keys: keysOf(t, s)})
		if err != nil {
			t.Fatal(err)
		}
		good := map[string][]byte{
			"whole.ndjson":   whole,
			"later.ndjson":   exported(t, s, audit.ExportOptions{Since: 310}),
			"without.ndjson": exported(t, s, audit.ExportOptions{WithoutPayloads: true}),
		}
		for name, v := range runIndependent(t, folder, good, "--key", key) {
			if !v.Verified || !v.Trusted || v.Size != report.Size || v.Root != report.Root.String() {
				t.Errorf("%s: %+v, want %+v", name, v, report)
			}
			if without := name == "without.ndjson"; (v.Erased == nil) != without || (v.Payloads == nil) != without {
				t.Errorf("%s: it counts payloads: %t", name, !without)
			}
		}
		for name, v := range runIndependent(t, folder, good) {
			if !v.Verified || v.Trusted {
				t.Errorf("%s, by the key in itself: %+v", name, v)
			}
		}
		cutWitness(t, folder, whole, key)
		bad := tampered(t, whole)
		results := runIndependent(t, folder, bad, "--key", key)
		for name, content := range bad {
			if v := results[name]; v.Verified || v.Problem == "" {
				t.Errorf("%s: the independent verifier says %+v", name, v)
			}
			if _, err := ledger.Verify(bytes.NewReader(content), ledger.Trust{Keys: keysOf(t, s)}); err == nil {
				t.Errorf("%s: our verifier does not find it", name)
			}
		}
	})
}

// cutWitness: the last line of a witness that crashed is passed over, as the page says.
func cutWitness(t *testing.T, folder string, whole []byte, key string) {
	t.Helper()
	header, _, _ := bytes.Cut(whole, []byte("\n"))
	var first struct {
		Checkpoint string `json:"checkpoint"`
	}
	if err := json.Unmarshal(header, &first); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]string{"seenAt": "2026-01-03T00:00:00Z", "checkpoint": first.Checkpoint})
	if err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(folder, "seen.txt")
	if err := os.WriteFile(seen, append(line, "\n{\"seenAt\":\"2026"...), 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"witnessed.ndjson": whole}
	for _, v := range runIndependent(t, folder, files, "--key", key, "--witness", seen) {
		if !v.Verified {
			t.Errorf("with a witness whose last line was cut off: %+v", v)
		}
	}
}

// TestAnIndependentVerifierVerifiesNothingElse: where no export is named, an option is misspelled, or a file that was
// given says nothing, it says so. A file that a failed command left empty is no file that was not given.
func TestAnIndependentVerifierVerifiesNothingElse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	given := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, words := given("empty.txt", "\n"), given("words.txt", "no key and no JSON\n")
	for _, args := range [][]string{
		{}, {"--key"}, {"--kee", "x", "log.ndjson"}, {"--key", "missing.txt", "log.ndjson"},
		{"--key", empty, "log.ndjson"}, {"--key", words, "log.ndjson"},
		{"--witness", empty, "log.ndjson"}, {"--witness", words, "log.ndjson"},
	} {
		command := exec.CommandContext(t.Context(), "node", append([]string{independent}, args...)...)
		output, err := command.CombinedOutput()
		if command.ProcessState.ExitCode() != 2 || !strings.Contains(string(output), "; usage: node verify.mjs") {
			t.Errorf("%q: %v, %s", args, err, output)
		}
	}
}

// tampered are an export's alterations, by name.
func tampered(t *testing.T, whole []byte) map[string][]byte {
	t.Helper()
	lines := strings.SplitAfter(string(whole), "\n")
	lines = lines[:len(lines)-1]
	files := map[string][]byte{}
	add := func(name string, lines ...string) { files[name+".ndjson"] = []byte(strings.Join(lines, "")) }
	edit := func(name string, line int, was, will string) {
		changed := strings.Replace(lines[line], was, will, 1)
		if changed == lines[line] {
			t.Fatalf("%s changes nothing in %s", name, lines[line])
		}
		edited := append([]string{}, lines...)
		edited[line] = changed
		add(name, edited...)
	}
	last := len(lines) - 1
	edit("a verdict", 3, `"verdict":"hold"`, `"verdict":"allow"`)
	edit("a payload", 310, `{"payload":{"n":`, `{"payload":{"n":1`)
	edit("a salt", 310, `"salt":"`, `"salt":"0000`)
	edit("a size", 0, `\n`, `\n1`)
	edit("another key", 0, `"key":"writ/`, `"key":"writ/x`)
	withoutPayload := lines[310][strings.LastIndex(lines[310], `"record":`):strings.LastIndex(lines[310], `,"salt"`)]
	edit("a payload gone", 310, lines[310], "{"+withoutPayload+"}\n")
	add("cut", lines[:last]...)
	add("twice", append(append([]string{}, lines...), lines[last])...)
	add("swapped", append(append([]string{lines[0], lines[2], lines[1]}, lines[3:]...), "")...)
	add("dropped", append([]string{lines[0]}, lines[2:]...)...)
	return files
}

// TestAnIndependentVerifierFollowsKills of every scope, and finds what was allowed behind them.
func TestAnIndependentVerifierFollowsKills(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		db := dbtest.Open(t, o)
		s := open(t, db)
		allowed := func(log string) audit.Entry {
			e := decision(log, 0)
			e.Decision.Under, e.Decision.Tool = "parent", "Tool"
			return e
		}
		leased := func(log string) audit.Entry {
			e := decision(log, 0)
			e.Action, e.Decision = ledger.Leased, audit.Decision{Agent: "agent0"}
			e.Payload = map[string]any{"tools": []map[string]any{{"server": "server0", "tool": "tool"}}}
			return e
		}
		files, folder := map[string][]byte{}, t.TempDir()
		bad := map[string]bool{}
		for name, c := range map[string]struct {
			killed audit.Decision
			stop   ledger.Stop
			then   func(log string) audit.Entry
		}{
			"agent":        {audit.Decision{Agent: "agent0"}, ledger.Stop{Scope: "agent"}, allowed},
			"keys":         {audit.Decision{Agent: "x"}, ledger.Stop{Scope: "agent", Keys: []string{"k0"}}, allowed},
			"key":          {audit.Decision{}, ledger.Stop{Scope: "key"}, allowed},
			"organization": {audit.Decision{}, ledger.Stop{Scope: "organization"}, allowed},
			"server":       {audit.Decision{Server: "SERVER0"}, ledger.Stop{Scope: "server"}, allowed},
			"tool":         {audit.Decision{Tool: "server0.tool"}, ledger.Stop{Scope: "tool"}, allowed},
			"plan":         {audit.Decision{Plan: "plan0"}, ledger.Stop{Scope: "plan"}, allowed},
			"under":        {audit.Decision{Plan: "parent"}, ledger.Stop{Scope: "plan"}, allowed},
			"lease":        {audit.Decision{Agent: "agent0"}, ledger.Stop{Scope: "agent"}, leased},
			"leased-tool":  {audit.Decision{Tool: "tool"}, ledger.Stop{Scope: "tool"}, leased},
			"other":        {audit.Decision{Agent: "agent1"}, ledger.Stop{Scope: "agent"}, allowed},
		} {
			for _, lifted := range []string{"", "1", "2"} {
				log := "log-" + name + "-" + lifted
				kill := audit.Entry{
					Log:      log,
					Action:   ledger.Killed,
					Actor:    principal.Operator(),
					Subject:  audit.Subject{Type: c.stop.Scope, ID: "k0"},
					Decision: c.killed,
					Stop:     c.stop,
				}
				kill.Stop.IDs = []string{"1"}
				lift := kill
				lift.Action, lift.Stop.IDs = ledger.Revived, []string{lifted}
				entries := []audit.Entry{decision(log, 0), kill, lift, c.then(log)}
				if lifted == "" {
					entries = slices.Delete(entries, 2, 3)
				}
				mustDecide(t, db, s.Log, entries...)
				var file bytes.Buffer
				if err := s.Export(t.Context(), &file, log, audit.ExportOptions{}); err != nil {
					t.Fatal(err)
				}
				files[log], bad[log] = file.Bytes(), lifted != "1" && name != "other"
			}
		}
		for name, v := range runIndependent(t, folder, files) {
			if v.Verified == bad[name] || bad[name] && !strings.Contains(v.Problem, "behind a kill") {
				t.Errorf("%s: the independent verifier says %+v", name, v)
			}
			_, err := ledger.Verify(bytes.NewReader(files[name]), ledger.Trust{Keys: keysOf(t, s)})
			if _, found := errors.AsType[*ledger.StoppedError](err); found != bad[name] {
				t.Errorf("%s: our verifier says %v", name, err)
			}
		}
	})
}

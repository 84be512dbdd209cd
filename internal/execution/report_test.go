package execution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/execution"
	"writ/internal/principal"
)

// shapes are the rows that published clients send.
var shapes = map[string]struct {
	row    string
	record string // in the entry's record
	holds  []string
}{
	"Gemini after a tool": {
		row:    `{"source":"armorgemini","event":"AfterTool","at":"2026-11-15T02:07:42.180Z","session_id":"s1","tool_name":"read_file","tool_input":{"path":"/a"},"result_summary":"ok"}`,
		record: `"tool":"read_file"`,
		holds: []string{
			`"source":"armorgemini"`, `"event":"AfterTool"`, `"input":{"path":"/a"}`, `"output":"ok"`,
			`"status":"unknown"`, `"executedAt":"2026-11-15T02:07:42.18Z"`, `"sessionId":"s1"`,
		},
	},
	"Claude with a token": {
		row:    `{"token":"eyJ.h.s","step_index":0,"action":"Bash","tool":"Bash","input":{"command":"make"},"output":{"output":"ok"},"status":"success","executed_at":"2026-11-15T02:07:42.180Z","duration_ms":0}`,
		record: `"tool":"Bash"`,
		holds:  []string{`"step":0`, `"status":"success"`, `"output":{"output":"ok"}`},
	},
	"Claude without a token": {
		row:    `{"session_id":"s","user_id":"claude-user","agent_id":"claude-code","client_id":"c","step_index":-1,"action":"Read","tool":"Read","input":{},"output":null,"status":"failed","error_message":"no such file","executed_at":"2026-11-15T02:07:42.180Z","duration_ms":0}`,
		record: `"agent":"claude-code"`,
		holds: []string{
			`"step":-1`, `"error":"no such file"`, `"status":"failed"`, `"userId":"claude-user"`, `"clientId":"c"`,
		},
	},
	"the SDK in Python": {
		row:    `{"token":"unknown","plan_id":"unknown","step_index":3,"action":"pay","tool":"pay","mcp":"bank","input":{"amount":5},"output":{},"status":"error","error_message":null,"duration_ms":12.5,"is_delegated":null,"delegated_by":null,"delegated_to":null,"user_email":"a@b.c","executed_at":"2026-11-15T02:07:42.180123Z"}`,
		record: `"tool":"pay"`,
		holds:  []string{`"server":"bank"`, `"durationMs":12.5`, `"userEmail":"a@b.c"`, `"status":"failed"`},
	},
}

func TestEveryShapeIsKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, shape := range shapes {
			before := len(e.entries(e.acme))
			answer := e.report(e.agent, shape.row)[0]
			entries := e.entries(e.acme)
			if answer.ID == "" || answer.Problem != "" || answer.Duplicate || len(answer.Commitment) != 64 ||
				len(entries) != before+1 {
				t.Fatalf("%s: %+v, %d entries", name, answer, len(entries))
			}
			entry := entries[before]
			if entry.Index != answer.Index || !strings.Contains(entry.Record, shape.record) ||
				!strings.Contains(entry.Record, e.agent.KeyID) {
				t.Errorf("%s: the record is %s", name, entry.Record)
			}
			for _, want := range shape.holds {
				if !strings.Contains(entry.Payload, want) {
					t.Errorf("%s: the payload lacks %s: %s", name, want, entry.Payload)
				}
			}
		}
	})
}

func TestRowsThatComeAgainCountOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const row = `{"tool":"Bash","input":{"a":1,"b":2},"status":"success","executed_at":"2026-11-15T02:07:42Z"}`
		const spelled = ` { "status":"success", "input":{"b":2,"a":1.0},"tool":"Bash","executed_at":"2026-11-15T02:07:42Z"}`
		answers := e.report(e.agent, row, spelled)
		again := e.report(e.agent, row)[0]
		if answers[1].ID != answers[0].ID || !answers[1].Duplicate || again.ID != answers[0].ID ||
			again.Index != answers[0].Index || !again.Duplicate {
			t.Errorf("%+v, then %+v", answers, again)
		}
		later := strings.Replace(row, "02:07:42Z", "02:07:43Z", 1)
		if a := e.report(e.agent, later)[0]; a.Duplicate {
			t.Error("another call is taken for the same")
		}
		if a := e.report(e.other, row)[0]; a.Duplicate {
			t.Error("another key's call is taken for the same")
		}
		if a := e.report(e.foreign, row)[0]; a.Duplicate {
			t.Error("another organization's call is taken for the same")
		}
		if n := len(e.entries(e.acme)); n != 3 {
			t.Errorf("%d entries in the log, want 3", n)
		}
	})
}

// TestSecretsAreNotStored looks at every column there is.
func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	each(t, func(t *testing.T, e *env) {
		e.report(e.agent,
			fmt.Sprintf(`{"tool":"Bash","session_id":%[1]q,"input":{"env":{"password":"hunter2hunter2"},"command":"curl -H 'Authorization: Bearer %[1]s'"},
			"output":{"text":"token=%[1]s"},"status":"failed","error_message":"refused %[1]s","result_summary":%[1]q}`,
				secret))
		for table, rows := range e.Rows("execution", "audit_entry") {
			if len(rows) == 0 {
				t.Fatalf("no rows of %s", table)
			}
			for _, row := range rows {
				if strings.Contains(row, secret) || strings.Contains(row, "hunter2") {
					t.Errorf("a row holds a secret:\n%s", row)
				}
			}
		}
	})
}

func TestRowsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bad := map[string]string{
			"no object":       `[1]`,
			"null":            `null`,
			"no tool":         `{"status":"success"}`,
			"an empty tool":   `{"tool":"  "}`,
			"a member twice":  `{"tool":"a","tool":"b"}`,
			"twice, deeper":   `{"tool":"a","input":{"x":1,"x":2}}`,
			"no UTF-8":        "{\"tool\":\"a\xff\"}",
			"half a pair":     `{"tool":"a","input":"\ud800"}`,
			"another's token": `{"tool":"Bash","token":{"plan_id":"x","signature":"stolen"}}`,
		}
		for name, row := range bad {
			by := e.agent
			if name == "another's token" {
				by = principal.Principal{}
			}
			answers := e.report(by, row,
				`{"tool":"good","input":"`+name+`","token":{"plan_id":"x","signature":"good"}}`)
			if answers[0].Problem == "" || answers[0].ID != "" {
				t.Errorf("%s is taken: %+v", name, answers[0])
			}
			if strings.Contains(answers[0].Problem, "stolen") {
				t.Errorf("%s: the problem tells what was sent: %s", name, answers[0].Problem)
			}
			if answers[1].Problem != "" {
				t.Errorf("beside %s a good row is refused: %s", name, answers[1].Problem)
			}
		}
		if n := len(e.entries(e.acme)); n != len(bad) {
			t.Errorf("%d entries, want the %d good ones", n, len(bad))
		}
	})
}

// TestHostileRows are odd, and taken: what was done must not be hidden by how it
// is told.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for name, row := range map[string]string{
			"a long tool":              `{"tool":"` + strings.Repeat("x", 5000) + `"}`,
			"control characters":       `{"tool":"a\u0000b\n","agent_id":"\u0000","session_id":"\u202e"}`,
			"a huge number":            `{"tool":"n","input":{"x":1e999},"step_index":1e99,"seq":99999999999999999999}`,
			"much output":              `{"tool":"m","output":"` + strings.Repeat("y", 1<<20) + `"}`,
			"members of another type":  `{"tool":"k","status":5,"executed_at":{},"duration_ms":"x","session_id":[],"token":7,"plan_id":{}}`,
			"a time beyond all":        `{"tool":"t","executed_at":"99999-01-01T00:00:00Z"}`,
			"a NUL in what went in":    `{"tool":"z","input":{"a":"\u0000"}}`,
			"the sentinel of the SDKs": `{"tool":"u","agent_id":"__sdk_multiuser__","user_id":"__sdk_multiuser__"}`,
		} {
			answer := e.report(e.agent, row)[0]
			if answer.Problem != "" {
				t.Errorf("%s: %s", name, answer.Problem)
			}
			if len(e.entries(e.acme)[len(e.entries(e.acme))-1].Payload) > 300<<10 {
				t.Errorf("%s is kept whole", name)
			}
		}
		e.reconcile()
	})
}

// TestReportWithATokenAlone is for clients that send no key.
func TestReportWithATokenAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		id := e.plan(e.acme)
		answer := e.report(principal.Principal{},
			fmt.Sprintf(`{"tool":"Bash","token":{"plan_id":%q,"signature":"good"}}`, id))[0]
		if answer.Problem != "" {
			t.Fatal(answer.Problem)
		}
		entry := e.entries(e.acme)[0]
		if !strings.Contains(entry.Record, `"plan":"`+id+`"`) || !strings.Contains(entry.Record, e.agent.KeyID) {
			t.Errorf("the record is %s", entry.Record)
		}
		nothing := e.report(principal.Principal{}, `{"tool":"Bash"}`)[0]
		if nothing.Problem == "" {
			t.Error("a report by nobody is taken")
		}
		for name, spoil := range map[string]func(key *principal.Principal){
			"may not report":             func(key *principal.Principal) { key.Scopes = nil },
			"is of another organization": func(key *principal.Principal) { key.OrgID = e.globex },
		} {
			before := e.agent
			spoil(&e.agent)
			row := fmt.Sprintf(`{"tool":"Bash","seq":%d,"token":{"plan_id":%q,"signature":"good"}}`, len(name), id)
			if answer := e.report(principal.Principal{}, row)[0]; answer.Problem == "" {
				t.Errorf("the token of a key that %s is taken", name)
			}
			e.agent = before
		}
	})
}

// TestManyRows go in slices; the log then has them in order.
func TestManyRows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var rows []string
		for i := range 130 {
			rows = append(rows, fmt.Sprintf(`{"tool":"t%d"}`, i))
		}
		rows[77] = `{}`
		answers := e.report(e.agent, rows...)
		for i, a := range answers {
			if (a.Problem != "") != (i == 77) || i > 77 && a.Index != int64(i-1) {
				t.Fatalf("row %d: %+v", i, a)
			}
		}
		head, err := audit.ReadHead(t.Context(), e.DB, e.acme)
		if err != nil || head.Size != 129 || head.Generation != 0 {
			t.Errorf("head %+v, %v: reports must not make anything that is remembered old", head, err)
		}
	})
}

func TestSplit(t *testing.T) {
	t.Parallel()
	rows, err := execution.Split([]byte("{\"x\":1,\"rows\":[{\"a\":1,\"a\":2},\"\xff\",null]}"))
	if err != nil || len(rows) != 3 || string(rows[0]) != `{"a":1,"a":2}` {
		t.Errorf("%q, %v", rows, err)
	}
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"rows":{}}`, `{"rows":null}`, `{"rows":[1]`, `{"rows":[]}x`,
	} {
		if rows, err := execution.Split([]byte(body)); err == nil {
			t.Errorf("%s gives %q", body, rows)
		}
	}
	var none []jsontext.Value
	if rows, err := execution.Split([]byte(`{"rows":[]}`)); err != nil || len(rows) != len(none) {
		t.Errorf("no rows: %q, %v", rows, err)
	}
}

// TestABatchOfMillionsIsNotMadeAList sends as many rows as a body holds.
func TestABatchOfMillionsIsNotMadeAList(t *testing.T) {
	t.Parallel()
	rows, err := execution.Split([]byte(`{"rows":[` + strings.Repeat("1,", 1<<20) + `{"tool":"late"}]}`))
	if err != nil || len(rows) != execution.MaxRows+1 {
		t.Errorf("%d rows, %v; want %d and one that stands for the rest", len(rows), err, execution.MaxRows)
	}
	rows, err = execution.Split([]byte(`{"rows": [ {"tool":"a"} , 2,"x\u0000" ,{"tool":1,"tool":2}, null ] }`))
	if err != nil || fmt.Sprintf("%s", rows) != `[{"tool":"a"} 2 "x\u0000" {"tool":1,"tool":2} null]` {
		t.Errorf("rows = %s, %v", rows, err)
	}
	if rows, err = execution.Split([]byte(`{"rows":[]}`)); err != nil || len(rows) != 0 {
		t.Errorf("no rows = %s, %v", rows, err)
	}
}

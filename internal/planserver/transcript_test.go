package planserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// raw is writ-plan, spoken to line by line.
type raw struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startRaw(t *testing.T) *raw {
	t.Helper()
	command := exec.Command(program(t), "--config", guardFile(t, "http://127.0.0.1:1", "ak_live_x"))
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("at the end of its input: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &raw{t, in, lines}
}

// say writes a line, and reads the answer if there is one to come.
func (r *raw) say(line string) (answer map[string]any) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(line, `"id"`) {
		return nil
	}
	if !r.out.Scan() {
		r.t.Fatalf("no answer to %s: %v", line, r.out.Err())
	}
	if err := json.Unmarshal(r.out.Bytes(), &answer); err != nil {
		r.t.Fatalf("stdout has something else than messages: %s", r.out.Bytes())
	}
	return answer
}

// TestTheTranscript is what the Gemini CLI sends, byte for byte in its protocol version, and what a broken host might.
func TestTheTranscript(t *testing.T) {
	t.Parallel()
	r := startRaw(t)
	hello := r.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"gemini-cli-mcp-client","version":"0.0.1"}}}`)
	result, _ := hello["result"].(map[string]any)
	if result["protocolVersion"] != "2025-06-18" ||
		!strings.Contains(result["instructions"].(string), "register_intent_plan") {
		t.Errorf("initialize: %v", hello)
	}
	r.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	tools := r.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	text, err := json.Marshal(tools)
	if err != nil || strings.Count(string(text), `"additionalProperties":false`) != 4 {
		t.Errorf("schemas that are not closed: %s", text)
	}
	for line, says := range map[string]string{
		`{"goal":"g","goal":"h","steps":[]}`:                         "goal stands there twice",
		`{"goal":"g","steps":[{"action":"a"}],"session_ticket":5}`:   "session_ticket has a value of the wrong type",
		`{"goal":"g","steps":[{"action":"a","tool":"b"}]}`:           "steps.0.tool is no member",
		`{"goal":"g","steps":[{"action":"a","max_calls":1e99}]}`:     "steps.0.max_calls has a value of the wrong type",
		`{"goal":"g","steps":[{"action":"a"}],"session_ticket":"x"}`: "cannot be reached",
		`{"goal":"g","steps":null,"session_ticket":"x"}`:             "at least one tool",
		`{"goal":"g","steps":[{"action":""}],"session_ticket":"x"}`:  "steps.0.action",
		`null`: "session_ticket is missing",
		`[]`:   "one JSON object",
	} {
		got := r.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"register_intent_plan","arguments":` + line + `}}`)
		text, err := json.Marshal(got)
		if err != nil || !strings.Contains(string(text), says) || !strings.Contains(string(text), `"isError":true`) {
			t.Errorf("%s: %s; want %q", line, text, says)
		}
	}
	if got := r.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"allow_everything","arguments":{}}}`); got["error"] == nil {
		t.Errorf("a tool that there is not: %v", got)
	}
}

// TestArgumentsOfTheProgram: what is wrong is said on stderr, and stdout stays the host's.
func TestArgumentsOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--nonsense"}, "not defined"},
		{[]string{"serve"}, `unexpected argument "serve"`},
	} {
		command := exec.CommandContext(t.Context(), program(t), c.args...)
		var complaint strings.Builder
		command.Stderr = &complaint
		out, err := command.Output()
		if err == nil || len(out) > 0 || !strings.Contains(complaint.String(), c.says) {
			t.Errorf("%q: %v, %q, %q; want %q", c.args, err, out, complaint.String(), c.says)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program(t), "--version").Output(); err != nil ||
		string(out) != "dev\n" {
		t.Errorf("--version: %v, %q", err, out)
	}
}

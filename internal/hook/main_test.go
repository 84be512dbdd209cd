package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
)

const guardText = `{"version":1,"server":"http://127.0.0.1:1","key":"ak_test_x","organization":"o","agent":"gemini-cli",
	"host":"gemini","manifest":"","mode":"enforce","approvalWaitSeconds":0,"carryPlan":false,"stateDir":"/srv/state",
	"writ":"/opt/writ/writ","planServer":"/opt/writ/writ-plan","capabilities":["confine"],"protected":[]}`

const callText = `{"session_id":"7f3b","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project",
	"hook_event_name":"BeforeTool","timestamp":"2026-01-01T00:00:00Z","tool_name":"read_file","tool_input":{"path":"a"}}`

func writeGuard(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guard.json")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// handler is a Handler made of a function.
type handler func(context.Context, *hook.Input) gemini.Answer

func (h handler) Handle(ctx context.Context, in *hook.Input) gemini.Answer { return h(ctx, in) }
func (handler) Fail(reason string) gemini.Answer                           { return gemini.Denied(reason) }
func (handler) Limit(*guardfile.File) time.Duration                        { return 50 * time.Millisecond }

func allow(context.Context, *hook.Input) gemini.Answer { return gemini.Answer{Decision: gemini.Allow} }

// forever never reads anything, and never ends.
type forever struct{}

func (forever) Read([]byte) (int, error) { select {} }

func TestWhateverFailsIsADeny(t *testing.T) {
	t.Parallel()
	good := writeGuard(t, guardText, 0o600)
	ended := make(chan os.Signal, 1)
	ended <- syscall.SIGTERM
	for _, c := range []struct {
		name    string
		args    []string
		in      io.Reader
		signals chan os.Signal
		handle  handler
		want    string // in the answer
	}{
		{"allowed", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil, allow, `"allow"`},
		{"attached", []string{"--config=" + good, "before-tool"}, strings.NewReader(callText), nil, allow, `"allow"`},
		{"no event", []string{"--config", good}, nil, nil, allow, "an event must be named"},
		{"unknown event", []string{"before-tol"}, nil, nil, allow, "an event must be named"},
		{"two events", []string{"before-tool", "after-tool"}, nil, nil, allow, "more than one event"},
		{"unknown flag", []string{"--guard", "x", "before-tool"}, nil, nil, allow, "unknown flag"},
		{"flag without value", []string{"before-tool", "--config"}, nil, nil, allow, "flag without a value"},
		{"no such file", []string{"--config", "/no/such", "before-tool"}, nil, nil, allow, "cannot be found"},
		{"relative file", []string{"--config", "guard.json", "before-tool"}, nil, nil, allow, "must be absolute"},
		{
			"not handled", []string{"--config", good, "after-tool"}, strings.NewReader(callText), nil, allow,
			"does not handle",
		},
		{"empty payload", []string{"--config", good, "before-tool"}, strings.NewReader(""), nil, allow, "is empty"},
		{
			"broken payload", []string{"--config", good, "before-tool"}, iotest.ErrReader(errors.New("broken")), nil,
			allow, "broken",
		},
		{
			"panic", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil,
			func(context.Context, *hook.Input) gemini.Answer { panic("boom") }, "crashed: boom",
		},
		{
			"hangs", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil,
			func(context.Context, *hook.Input) gemini.Answer { select {} }, "within 50ms",
		},
		{"ended", []string{"--config", good, "before-tool"}, forever{}, ended, allow, "told to end"},
		{
			"says nothing", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil,
			func(context.Context, *hook.Input) gemini.Answer { return gemini.Answer{} }, "gave no reason",
		},
		{
			"unknown word", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil,
			func(context.Context, *hook.Input) gemini.Answer { return gemini.Answer{Decision: "DENY", Reason: "no"} },
			`"decision":"deny","reason":"no"`,
		},
		{
			"no JSON", []string{"--config", good, "before-tool"}, strings.NewReader(callText), nil,
			func(context.Context, *hook.Input) gemini.Answer {
				return gemini.Answer{Decision: "allow", Specific: &gemini.Specific{ToolInput: json.RawMessage("{")}}
			},
			"cannot be written as JSON",
		},
	} {
		var out, messages bytes.Buffer
		p := hook.Process{
			In:       c.in,
			Out:      &out,
			Messages: &messages,
			Signals:  c.signals,
			Getenv:   func(string) string { return "" },
		}
		code := hook.Main(c.args, p, hook.Handlers{hook.BeforeTool: c.handle})
		var answer struct{ Decision string }
		err := json.Unmarshal(out.Bytes(), &answer)
		if code != 0 || err != nil || messages.Len() > 0 || !strings.Contains(out.String(), c.want) ||
			answer.Decision != "deny" && c.want != `"allow"` {
			t.Errorf("%s: exit %d, %v, %s%s; want %s", c.name, code, err, &out, &messages, c.want)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var messages bytes.Buffer
	p := hook.Process{In: strings.NewReader(callText), Out: full{}, Messages: &messages}
	args := []string{"--config", writeGuard(t, guardText, 0o600), "before-tool"}
	if code := hook.Main(args, p, hook.Handlers{hook.BeforeTool: handler(allow)}); code != 2 || messages.Len() == 0 {
		t.Errorf("exit %d, %q: the host takes only text and exit code 2 for a deny", code, &messages)
	}
}

// TestSelectionSaysNothing: any output of this event, also on stderr, changes the request to the model.
func TestSelectionSaysNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"before-tool-selection", "--nonsense"}, {"--config", "/no/such", "before-tool-selection"},
	} {
		var out, messages bytes.Buffer
		p := hook.Process{In: forever{}, Out: &out, Messages: &messages}
		if code := hook.Main(args, p, nil); code != 0 || out.Len()+messages.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &messages)
		}
	}
}

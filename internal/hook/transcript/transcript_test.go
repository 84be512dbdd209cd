package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"writ/internal/hook/transcript"
)

var since = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// record writes a transcript and gives its path.
func record(t *testing.T, lines ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "chats")
	path := filepath.Join(folder, "session-2026-03-01T12-00-0a1b2c3d.jsonl")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// said is a line with a message of the model.
func said(id, at, model, tokens string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":%q,"type":"gemini","content":"hello","model":%q,"tokens":%s}`,
		id, at, model, tokens)
}

const (
	before = "2026-03-01T11:59:00.000Z"
	during = "2026-03-01T12:00:05.000Z"
)

func TestRead(t *testing.T) {
	t.Parallel()
	tokens := func(input int) string {
		return fmt.Sprintf(`{"input":%d,"output":5,"cached":3,"thoughts":2,"tool":1,"total":99}`, input)
	}
	for name, c := range map[string]struct {
		lines []string
		want  []transcript.Request
	}{
		"one message": {
			[]string{`{"sessionId":"s","projectHash":"p"}`, said("a", during, "gemini-2.5-pro", tokens(10))},
			[]transcript.Request{{Model: "gemini-2.5-pro", Input: 11, Output: 7, Cached: 3}},
		},
		"a message that is written again counts once, by its last line": {
			[]string{
				said("a", during, "m", "null"), said("a", during, "m", tokens(10)), said("b", during, "m", tokens(1)),
				said("a", during, "m", tokens(20)), `{"$set":{"lastUpdated":"x"}}`, `{"$rewindTo":"a"}`,
			},
			[]transcript.Request{
				{Model: "m", Input: 21, Output: 7, Cached: 3}, {Model: "m", Input: 2, Output: 7, Cached: 3},
			},
		},
		"by model": {
			[]string{said("a", during, "m", tokens(10)), said("b", during, "n", tokens(20))},
			[]transcript.Request{
				{Model: "m", Input: 11, Output: 7, Cached: 3},
				{Model: "n", Input: 21, Output: 7, Cached: 3},
			},
		},
		"what was before the turn does not count": {
			[]string{said("a", before, "m", tokens(10)), said("b", during, "m", `{"input":4}`)},
			[]transcript.Request{{Model: "m", Input: 4}},
		},
		"lines that cannot be read": {
			[]string{
				"", "nonsense", `[1]`, `{"id":1}`, `{"id":"x","type":"gemini","timestamp":"soon","tokens":{"input":1}}`,
				`{"id":"u","type":"user","timestamp":"` + during + `","tokens":{"input":1}}`,
				`{"id":"c","type":"gemini"`, said("b", during, "m", `{"input":4}`), `{"id":"c","type":"gem`,
			},
			[]transcript.Request{{Model: "m", Input: 4}},
		},
		"figures that are none": {
			[]string{
				said("a", during, "m", `{"input":-5,"output":"7","cached":1e300,"thoughts":null,"tool":2}`),
				said("b", during, "m", `{"input":1e13}`),
			},
			[]transcript.Request{{Model: "m", Input: 2}, {Model: "m"}},
		},
		"names that steer a terminal": {
			[]string{
				strings.Replace(said("a", during, "MODEL", `{"input":1}`), "MODEL", `\u001b[31m`, 1),
				said("b", during, strings.Repeat("m", 300), `{"input":1}`),
			},
			[]transcript.Request{{Input: 1}, {Input: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := transcript.Read(record(t, c.lines...), 0, since)
			for i := range got.Requests {
				if at := got.Requests[i].At; at.Before(since) {
					t.Errorf("a request of %v, before the turn", at)
				}
				got.Requests[i].At = time.Time{}
			}
			if err != nil || got.Cut || !slices.Equal(got.Requests, c.want) {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestReadFromWhereTheTurnBegins(t *testing.T) {
	t.Parallel()
	path := record(t, said("a", during, "m", `{"input":1}`))
	offset := transcript.Size(path)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(said("b", during, "m", `{"input":2}`) + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := transcript.Read(path, offset, since)
	if err != nil || len(got.Requests) != 1 || got.Requests[0].Input != 2 {
		t.Errorf("%+v, %v; want the second message alone", got, err)
	}
	if got, err = transcript.Read(path, 1<<40, since); err != nil || len(got.Requests) != 0 {
		t.Errorf("beyond the end: %+v, %v", got, err)
	}
	if _, err := transcript.Read(path, -1, since); err == nil {
		t.Error("a negative offset is no error")
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	long := `{"id":"l","type":"gemini","x":"` + strings.Repeat("x", 5<<20) + `"}`
	got, err := transcript.Read(record(t, long, said("a", during, "m", `{"input":1}`)), 0, since)
	if err != nil || !got.Cut || len(got.Requests) != 1 || got.Requests[0].Input != 1 {
		t.Errorf("a line that is too long: %+v, %v", got, err)
	}
	var many []string
	for i := range 10_050 {
		many = append(many, said(fmt.Sprint("m", i), during, fmt.Sprint("model", i), `{"input":1}`))
	}
	got, err = transcript.Read(record(t, many...), 0, since)
	total := int64(0)
	for _, request := range got.Requests {
		total += request.Input
	}
	if err != nil || !got.Cut || len(got.Requests) != 200 || total != 10_000 {
		t.Errorf("%d requests, %d tokens, %v, %v", len(got.Requests), total, got.Cut, err)
	}
}

// TestOnlyTranscriptsAreOpened: the path comes from the host, and what it names may be anything.
func TestOnlyTranscriptsAreOpened(t *testing.T) {
	t.Parallel()
	good := record(t, said("a", during, "m", `{"input":1}`))
	folder := filepath.Dir(good)
	link, pipe := filepath.Join(folder, "session-link.jsonl"), filepath.Join(folder, "session-pipe.jsonl")
	directory := filepath.Join(folder, "session-folder.jsonl")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"", "chats/session-a.jsonl", "/etc/passwd", filepath.Join(folder, "other.jsonl"), "/dev/zero",
		filepath.Join(folder, "session-absent.jsonl"), link, pipe, directory, filepath.Join(folder, "session-a.json"),
	} {
		if _, err := transcript.Read(path, 0, since); err == nil {
			t.Errorf("%q is read", path)
		}
		if size := transcript.Size(path); size != 0 {
			t.Errorf("%q has a size of %d", path, size)
		}
	}
}

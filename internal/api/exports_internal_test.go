package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/internal/fault"
)

// slowReader is an answer that remembers by when each part of it must be taken.
type slowReader struct {
	bytes.Buffer
	read  time.Time
	write []time.Time
}

func (s *slowReader) Header() http.Header                { return http.Header{} }
func (s *slowReader) WriteHeader(int)                    {}
func (s *slowReader) FlushError() error                  { return nil }
func (s *slowReader) SetReadDeadline(t time.Time) error  { s.read = t; return nil }
func (s *slowReader) SetWriteDeadline(t time.Time) error { s.write = append(s.write, t); return nil }

func TestEveryPartOfAnExportHasItsTime(t *testing.T) {
	t.Parallel()
	reader := &slowReader{read: time.Now()}
	out := newExportStream(reader, nil, nil)
	if err := out.begin(); err != nil || !reader.read.IsZero() {
		t.Errorf("the limit of short requests stays at %v: %v", reader.read, err)
	}
	before := time.Now()
	for range 3 {
		if _, err := out.Write(make([]byte, exportPart)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.flush(); err != nil || reader.Len() != 3*exportPart {
		t.Fatalf("%d bytes, %v", reader.Len(), err)
	}
	if len(reader.write) != 3 {
		t.Errorf("%d parts have a time, want 3", len(reader.write))
	}
	for _, by := range reader.write {
		if given := by.Sub(before); given < partTimeout || given > 2*partTimeout {
			t.Errorf("a part may take %v", given)
		}
	}
}

func TestAnExportEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	gone := fault.New(fault.Forbidden, "not a member any more")
	asked := 0
	out := newExportStream(&slowReader{}, stopping, func() error { asked++; return gone })
	if err := out.check(); err != nil || asked != 0 {
		t.Errorf("just begun: %v, asked %d times", err, asked)
	}
	out.checked = out.checked.Add(-streamCheck)
	if err := out.check(); !fault.Is(err, fault.Forbidden) || asked != 1 {
		t.Errorf("after some time: %v, asked %d times", err, asked)
	}
	if err := out.check(); err != nil || asked != 1 {
		t.Errorf("right after: %v, asked %d times", err, asked)
	}
	close(stopping)
	if err := out.check(); !fault.Is(err, fault.Unavailable) {
		t.Errorf("when the server stops: %v", err)
	}
}

func TestTheLastLineOfACutExport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines lines
		want  string
	}{
		"NDJSON": {
			lines{count: 7}, `{"end":{"complete":false,"lines":7,"message":"=why","cursor":"next"}}` + "\n",
		},
		"NDJSON in the middle of one": {
			lines{count: 7, midway: true}, `{"end":{"complete":false,"lines":7,"message":"=why"}}` + "\n",
		},
		"CSV": {lines{count: 7, csv: true, width: 6}, `"# cut",7,"'=why","next",,` + "\r\n"},
		"CSV in the middle of one": {
			lines{count: 7, csv: true, width: 6, midway: true}, `"# cut",7,"'=why","",,` + "\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := &slowReader{}
			c.lines.out, c.lines.cursor = newExportStream(reader, nil, nil), func() string { return "next" }
			c.lines.begin()
			c.lines.out.ending("=why")
			if err := c.lines.out.flush(); err != nil || reader.String() != c.want {
				t.Errorf("%q, %v; want %q", reader.String(), err, c.want)
			}
		})
	}
}

func TestExportsAreCounted(t *testing.T) {
	t.Parallel()
	var open openExports
	var leave []func()
	for range exportsAtAll {
		out, err := open.enter(strings.Repeat("x", len(leave)/exportsPerOrganization))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := open.enter("another"); !fault.Is(err, fault.TooMany) {
		t.Errorf("more than there may be: %v", err)
	}
	for _, out := range leave {
		out()
	}
	if open.all != 0 || len(open.organizations) != 0 {
		t.Errorf("after all have left: %d, %v", open.all, open.organizations)
	}
}

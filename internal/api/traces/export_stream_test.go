package traces

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
)

// slowReader is an answer that notes the deadline of each of its parts.
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

func streamTo(t *testing.T, w http.ResponseWriter, stopping <-chan struct{}, mayRead func() error) *exportStream {
	t.Helper()
	out, err := newExportStream(w, stopping, mayRead)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryPartOfAnExportHasItsTime(t *testing.T) {
	t.Parallel()
	reader := &slowReader{read: time.Now()}
	out := streamTo(t, reader, nil, nil)
	if !reader.read.IsZero() {
		t.Errorf("the limit of short requests stays at %v", reader.read)
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
		if given := by.Sub(before); given < route.PartTimeout || given > 2*route.PartTimeout {
			t.Errorf("a part may take %v", given)
		}
	}
}

func TestAnExportEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	gone := fault.New(fault.Forbidden, "not a member any more")
	asked := 0
	out := streamTo(t, &slowReader{}, stopping, func() error { asked++; return gone })
	if err := out.check(); err != nil || asked != 0 {
		t.Errorf("just begun: %v, asked %d times", err, asked)
	}
	out.checked = out.checked.Add(-route.RightsCheck)
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
			c.lines.out, c.lines.cursor = streamTo(t, reader, nil, nil), func() string { return "next" }
			c.lines.cut("=why")
			if err := c.lines.out.flush(); err != nil || reader.String() != c.want {
				t.Errorf("%q, %v; want %q", reader.String(), err, c.want)
			}
		})
	}
}

func TestExportsAreCounted(t *testing.T) {
	t.Parallel()
	h := &Handlers{}
	h.Mount(route.New(route.Config{}))
	var releases []func()
	for i := range exportsInTotal {
		org := strings.Repeat("x", i/exportsPerOrganization)
		release, err := h.beginExport(org)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
		if i == exportsPerOrganization-1 {
			if _, err := h.beginExport(org); !fault.Is(err, fault.TooMany) {
				t.Errorf("more than an organization may have: %v", err)
			}
		}
	}
	if _, err := h.beginExport("another"); !fault.Is(err, fault.TooMany) {
		t.Errorf("more than there may be: %v", err)
	}
	for _, release := range releases {
		release()
	}
	if h.exports.Used() != 0 {
		t.Errorf("%d are counted after all have ended", h.exports.Used())
	}
}

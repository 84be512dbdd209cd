package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"writ/internal/fault"
)

const csvType = "text/csv; charset=utf-8"

// How exports are bounded. What one may hold in memory is bounded by what it reads
// at once; how many there are bounds the rest.
const (
	exportsPerOrganization = 3
	exportsAtAll           = 20
	exportTime             = time.Hour
	exportPart             = 32 << 10 // bytes that are written together
	checkSpans             = 2000
)

// openExports counts the exports of this process.
type openExports struct {
	mu            sync.Mutex // guards the rest
	organizations map[string]int
	all           int
}

// enter counts an export of an organization until leave is called.
func (o *openExports) enter(orgID string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.organizations[orgID] >= exportsPerOrganization || o.all >= exportsAtAll {
		busy := fault.New(fault.TooMany, "too many exports are running: wait for one to end")
		busy.RetryAfter = 10 * time.Second
		return nil, busy
	}
	if o.organizations == nil {
		o.organizations = map[string]int{}
	}
	o.organizations[orgID]++
	o.all++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.all--; o.organizations[orgID] == 1 {
			delete(o.organizations, orgID)
			return
		}
		o.organizations[orgID]--
	}, nil
}

// writeExport writes an answer of any length. One that cannot be finished says so in
// its last line where it has lines, and the connection breaks in any case: no reader
// takes the part for the whole.
func (a *API) writeExport(c huma.Context, route Route, w *written) {
	request, response := humago.Unwrap(c)
	response.Header().Set("Content-Type", w.kind)
	response.Header().Set("Content-Disposition", `attachment; filename="`+w.filename+`"`)
	if request.Method == http.MethodHead {
		response.WriteHeader(http.StatusOK)
		return
	}
	ctx, cancel := context.WithTimeout(request.Context(), exportTime)
	defer cancel()
	out := newExportStream(response, a.router.Stopping(), func() error {
		_, err := a.router.Admit(request, route)
		return err
	})
	err := out.begin()
	if err == nil {
		err = w.write(ctx, out)
	}
	if err == nil {
		err = out.flush()
	}
	if err == nil {
		return
	}
	a.Logger.WarnContext(request.Context(), "an export ended early", "requestId", requestOf(request.Context()).ID,
		"error", err)
	if out.ending != nil && !out.isBroken {
		out.ending(a.endMessage(ctx, err))
		_ = out.flush() // the reader is told by the broken connection too
	}
	panic(http.ErrAbortHandler)
}

// endMessage tells the reader why an export is cut.
func (a *API) endMessage(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("it took longer than %v", exportTime)
	}
	return a.router.Render(context.WithoutCancel(ctx), err).Message
}

// exportStream is a long answer. A reader who does not take a part in time is let
// go; one who may not read any more gets no further part.
type exportStream struct {
	*bufio.Writer
	sink     *partWriter
	ending   func(message string) // writes the last line of what is cut; nil: there is none
	isBroken bool

	stopping <-chan struct{}
	may      func() error // whether the reader may still read
	checked  time.Time
	within   int // spans of the trace that is being written
}

// partWriter writes the parts of an export.
type partWriter struct {
	stream     *exportStream
	w          http.ResponseWriter
	controller *http.ResponseController
}

func newExportStream(w http.ResponseWriter, stopping <-chan struct{}, may func() error) *exportStream {
	s := &exportStream{stopping: stopping, may: may, checked: time.Now()}
	s.sink = &partWriter{stream: s, w: w, controller: http.NewResponseController(w)}
	s.Writer = bufio.NewWriterSize(s.sink, exportPart)
	return s
}

func (s *exportStream) begin() error { return takeTime(s.sink.controller) }

// takeTime lifts the server's own limit, which is for requests that end soon: when
// it is reached in the middle of an answer, it is taken for a reader who left.
func takeTime(controller *http.ResponseController) error {
	if err := controller.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("begin a long answer: %w", err)
	}
	return nil
}

// check refuses to go on when the server stops, and for who may not read any more,
// which is asked from time to time.
func (s *exportStream) check() error {
	select {
	case <-s.stopping:
		return fault.New(fault.Unavailable, "the server is stopping")
	default:
	}
	if time.Since(s.checked) < streamCheck {
		return nil
	}
	s.checked = time.Now()
	return s.may()
}

// checkWithin checks among the spans of a trace, of which one may have so many that
// they take as long as the export may. It is not asked often: what is cut there cannot
// be continued.
func (s *exportStream) checkWithin() error {
	if s.within++; s.within%checkSpans != 0 {
		return nil
	}
	return s.check()
}

func (s *exportStream) flush() error {
	if err := s.Flush(); err != nil {
		return err
	}
	return s.sink.controller.Flush()
}

func (p *partWriter) Write(part []byte) (n int, err error) {
	defer func() { p.stream.isBroken = err != nil }()
	if err := p.controller.SetWriteDeadline(time.Now().Add(partTimeout)); err != nil {
		return 0, fmt.Errorf("write a part of an export: %w", err)
	}
	if n, err = p.w.Write(part); err != nil {
		return n, fmt.Errorf("write a part of an export: %w", err)
	}
	return n, nil
}

package traces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"writ/internal/api/route"
	"writ/internal/fault"
)

const (
	exportTime = time.Hour
	exportPart = 32 << 10 // bytes that are written together
	checkSpans = 2000     // spans of one trace between two checks
)

// writeFile answers with a file of any length. One that cannot be finished says so in its last line, if it has lines,
// and the connection breaks in any case: no reader takes the part for the whole.
func (h *Handlers) writeFile(c huma.Context, rt route.Route, f *file) {
	request, response := humago.Unwrap(c)
	response.Header().Set("Content-Type", f.kind)
	response.Header().Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
	if request.Method == http.MethodHead {
		response.WriteHeader(http.StatusOK)
		return
	}
	ctx, cancel := context.WithTimeout(request.Context(), exportTime)
	defer cancel()
	out, err := newExportStream(response, h.router.Stopping(), func() error {
		_, err := h.router.Admit(request, rt)
		return err
	})
	if err == nil {
		err = f.write(ctx, out)
	}
	if err == nil {
		err = out.flush()
	}
	if err == nil {
		return
	}
	h.Logger.WarnContext(request.Context(), "an export ended early",
		"requestId", route.RequestOf(request.Context()).ID, "error", err)
	if out.ending != nil && out.Flush() == nil { // else the connection is broken
		out.ending(h.endMessage(ctx, err))
		_ = out.flush() // the reader learns it from the broken connection too
	}
	panic(http.ErrAbortHandler)
}

// endMessage tells the reader why an export is cut.
func (h *Handlers) endMessage(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("it took longer than %v", exportTime)
	}
	return h.router.Render(context.WithoutCancel(ctx), err).Message
}

// exportStream is a long answer. A reader who does not take a part in time is disconnected, and one who loses the right
// to read gets no further part. After a write has failed, all others fail.
type exportStream struct {
	*bufio.Writer
	parts  *route.Parts
	ending func(message string) // writes the last line of what is cut; nil: there is none

	stopping <-chan struct{}
	mayRead  func() error
	checked  time.Time
	spans    int // of the trace that is being written
}

func newExportStream(w http.ResponseWriter, stopping <-chan struct{}, mayRead func() error) (*exportStream, error) {
	parts, err := route.NewParts(w)
	return &exportStream{
		Writer:   bufio.NewWriterSize(parts, exportPart),
		parts:    parts,
		stopping: stopping,
		mayRead:  mayRead,
		checked:  time.Now(),
	}, err
}

// check fails when the server stops, and when the reader may not read any more, which it checks from time to time.
func (s *exportStream) check() error {
	select {
	case <-s.stopping:
		return fault.New(fault.Unavailable, "the server is stopping")
	default:
	}
	if time.Since(s.checked) < route.RightsCheck {
		return nil
	}
	s.checked = time.Now()
	return s.mayRead()
}

// checkSpan checks after some of the spans of a trace, which may have so many that they take as long as the export may.
// It does so rarely: what is cut within a trace cannot be continued.
func (s *exportStream) checkSpan() error {
	if s.spans++; s.spans%checkSpans != 0 {
		return nil
	}
	return s.check()
}

func (s *exportStream) flush() error {
	if err := s.Flush(); err != nil {
		return err
	}
	return s.parts.Flush()
}

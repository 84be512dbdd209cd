package route

import (
	"bytes"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
	"writ/internal/spelling"
)

// Names are the names under which a route reads the parts of a call.
type Names = spelling.Names

// All names of the parts of a call, for routes that read a body by hand.
var (
	ServerNames    = spelling.Server
	ToolNames      = spelling.Tool
	ArgumentsNames = spelling.Arguments
	PlanTokenNames = spelling.PlanToken
)

// ContextName is the member in which plugins say which tool a call is of.
const ContextName = spelling.Context

// respelling makes one name of the many under which clients write the same, before a body is validated. The document
// then has one set of names.
type respelling func(body jsontext.Value) (jsontext.Value, error)

// SpelledAt takes every spelling of a call in the object that the body has under a name, or in each of the list there;
// an empty name is the body itself. Spellings that disagree are refused.
func (r Route) SpelledAt(at string, names Names) Route {
	r.respells = append(r.respells[:len(r.respells):len(r.respells)],
		func(body jsontext.Value) (jsontext.Value, error) { return spelling.RewriteAt(body, at, names.Rewrite) })
	return r
}

// Spelled takes every spelling of a call in the body.
func (r Route) Spelled(names Names) Route { return r.SpelledAt("", names) }

// NamesApproval takes every name of an approval's id in the body, and has the handler read it under this one.
func (r Route) NamesApproval(name string) Route {
	r.respells = append(r.respells[:len(r.respells):len(r.respells)],
		func(body jsontext.Value) (jsontext.Value, error) { return spelling.RewriteApproval(body, name) })
	return r
}

// respell is a body under the names that a route reads.
func (r Route) respell(body jsontext.Value) (jsontext.Value, error) {
	for _, respell := range r.respells {
		var err error
		if body, err = respell(body); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// bodyTimeout is how long a body may take to come, as huma has it.
const bodyTimeout = 5 * time.Second

// respellBody gives a route its body under the names that it reads. A body that is too large goes on as it is, for
// huma to refuse.
func (s *server) respellBody(rt Route) func(ctx huma.Context, next func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		request, w := humago.Unwrap(ctx)
		_ = ctx.SetReadDeadline(time.Now().Add(bodyTimeout)) // a request of this process has no connection to wait for
		limit := s.limitOf(rt)
		body, err := io.ReadAll(io.LimitReader(request.Body, limit+1))
		if err != nil {
			s.WriteError(w, request, fault.Wrap(err, fault.Invalid, "the request body could not be read"))
			return
		}
		if int64(len(body)) > limit {
			next(&respelled{ctx, io.MultiReader(bytes.NewReader(body), request.Body)})
			return
		}
		if body, err = rt.respell(body); err != nil {
			s.WriteError(w, request, err)
			return
		}
		next(&respelled{ctx, bytes.NewReader(body)})
	}
}

type humaContext huma.Context // whose own method is Context

// respelled is a request with another body.
type respelled struct {
	humaContext
	body io.Reader
}

// BodyReader is how huma reads the body.
func (c *respelled) BodyReader() io.Reader { return c.body }

// Unwrap gives the request to whoever needs more of it.
func (c *respelled) Unwrap() huma.Context { return c.humaContext }

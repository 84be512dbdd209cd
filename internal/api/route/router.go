package route

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// Gate admits the callers of routes that are not public: it authenticates them and checks what the route needs.
type Gate interface {
	Admit(request *http.Request, r Route) (principal.Principal, error)
}

// Config is what a Router needs.
type Config struct {
	Gate    Gate
	Limiter *throttle.Limiter
	Logger  *slog.Logger
	// Stopped refuses a key that the kill switch has stopped; nil: there is none. Long answers ask it once a second.
	Stopped func(ctx context.Context, caller principal.Principal) error
	// Observe is called for every answer, with the pattern of its route.
	Observe func(pattern string, status int, took time.Duration)

	Version        string
	PublicURL      *url.URL
	HostNames      []string // others under which programs reach it
	TrustedProxies []netip.Prefix
	CORSOrigins    []string
	MaxBodyBytes   int64
	UsesTLS        bool // whether browsers reach this server with TLS
}

// Router serves the routes that are mounted on it.
type Router struct {
	*server
	tag string // of the routes that are mounted through this value
}

type server struct {
	Config
	mux    *http.ServeMux
	huma   huma.API
	routes []Route

	wholeNames []string // the paths before names of routes with WholeName
	shapes     []Shape
	stop       sync.Once
	stopping   chan struct{}
	patience   atomic.Int64 // of a stream with its reader, in nanoseconds
	refusals   LogGate
}

// New makes a router without routes.
func New(c Config) *Router {
	setUpHuma()
	s := &server{Config: c, mux: http.NewServeMux(), stopping: make(chan struct{})}
	s.patience.Store(int64(streamWrite))
	s.huma = humago.New(s.mux, humaConfig(c.Version))
	return &Router{server: s}
}

// Tagged is the same router; routes that are mounted through it are documented under the tag.
func (r *Router) Tagged(tag string) *Router { return &Router{server: r.server, tag: tag} }

// Routes lists what is served, in the order it was mounted.
func (s *server) Routes() []Route { return s.routes }

// Stop says that the server stops: streams end, and no new ones begin.
func (s *server) Stop() { s.stop.Do(func() { close(s.stopping) }) }

// Stopping is closed when the server begins to stop, for answers that have no end of their own.
func (s *server) Stopping() <-chan struct{} { return s.stopping }

// Accounted is an input that says which account it is about, for the throttle.
type Accounted interface{ Account() string }

// Handle mounts a route whose handler returns the body of its answer, or None.
func Handle[I, B any](
	r *Router, rt Route, handler func(ctx context.Context, caller principal.Principal, in *I) (B, error),
) {
	if reflect.TypeFor[B]() == reflect.TypeFor[None]() {
		HandleOutput(r, rt, func(ctx context.Context, caller principal.Principal, in *I) (*None, error) {
			_, err := handler(ctx, caller, in)
			return nil, err
		})
		return
	}
	if b := reflect.TypeFor[B](); b.Kind() == reflect.Pointer && b.Elem().Kind() == reflect.Struct {
		if _, isOutput := b.Elem().FieldByName("Body"); isOutput {
			panic(fmt.Sprintf("%s %s: mount an output with HandleOutput", rt.Method, rt.Path))
		}
	}
	HandleOutput(r, rt, func(ctx context.Context, caller principal.Principal, in *I) (*answer[B], error) {
		body, err := handler(ctx, caller, in)
		return &answer[B]{body}, err
	})
}

// HandleOutput mounts a route whose handler also sets headers or streams: its output is one that huma reads.
func HandleOutput[I, O any](
	r *Router, rt Route, handler func(ctx context.Context, caller principal.Principal, in *I) (*O, error),
) {
	rt = r.declare(rt)
	middlewares := huma.Middlewares{r.guard(rt)}
	if len(rt.respells) > 0 {
		middlewares = append(middlewares, r.respellBody(rt))
	}
	huma.Register(r.huma, huma.Operation{
		OperationID:   rt.operationID(),
		Method:        rt.Method,
		Path:          rt.Path,
		Summary:       rt.Summary,
		Description:   rt.description(),
		Tags:          []string{rt.Tag},
		DefaultStatus: rt.Status,
		MaxBodyBytes:  r.limitOf(rt) + 1, // huma refuses a body that reaches the limit
		Security:      security(rt.Mode),
		Errors:        rt.errorStatuses(),
		Middlewares:   middlewares,
	}, func(ctx context.Context, in *I) (*O, error) {
		caller := callerOf(ctx)
		account := caller.UserID
		if input, ok := any(in).(Accounted); ok {
			account = input.Account()
		}
		if !rt.Throttle.IsZero() {
			if err := r.throttle(ctx, rt, account); err != nil {
				return nil, r.Render(ctx, err)
			}
		}
		out, err := handler(ctx, caller, in)
		if err != nil {
			return nil, r.Render(ctx, rt.payable(err))
		}
		if rt.Guesses {
			r.giveBack(ctx, rt, account)
		}
		return out, nil
	})
	r.shapeDocumentedErrors(rt)
	if rt.ClosedBody {
		r.refuseUnknown(rt)
	}
}

// Serve mounts a route whose handler reads the body and writes the answer by hand, because it is hot or large. What
// it returns as an error is answered for it. The caller documents the route with Document.
func (r *Router) Serve(
	rt Route, handler func(w http.ResponseWriter, request *http.Request, caller principal.Principal) error,
) {
	rt = r.declare(rt)
	r.mux.HandleFunc(rt.Method+" "+rt.Path, func(w http.ResponseWriter, request *http.Request) {
		caller, err := r.Admit(request, rt)
		if err == nil {
			err = r.checkQuery(rt, request, caller)
		}
		if err == nil && !rt.Throttle.IsZero() {
			account := caller.UserID
			if rt.account != nil {
				account = rt.account(request)
			}
			err = r.throttle(request.Context(), rt, account)
		}
		if err == nil {
			err = rt.payable(handler(w, request, caller))
		}
		switch {
		case err == nil:
		case rt.writeError != nil:
			rt.writeError(w, request, r.Render(request.Context(), err))
		default:
			r.WriteError(w, request, err)
		}
	})
}

// Raw is Serve for a route that takes and answers JSON; I and O are what the document says of body and answer.
func Raw[I, O any](
	r *Router, rt Route, handler func(w http.ResponseWriter, request *http.Request, caller principal.Principal) error,
) {
	r.Serve(rt, handler)
	documentRaw[I, O](r, rt)
}

// Page serves something that is no route of the API: a page, a script, a document.
func (r *Router) Page(pattern string, handler http.HandlerFunc) { r.mux.HandleFunc(pattern, handler) }

// declare checks a route and lists it.
func (r *Router) declare(rt Route) Route {
	if err := rt.check(); err != nil {
		panic(err) // a mistake in a declaration, found by any test
	}
	if rt.Tag == "" {
		rt.Tag = r.tag
	}
	if rt.Status == 0 {
		rt.Status = http.StatusOK
	}
	if rt.WholeName {
		r.wholeNames = append(r.wholeNames, rt.Path[:strings.LastIndex(rt.Path, "/")+1])
	}
	r.routes = append(r.routes, rt)
	return rt
}

// limitOf is how large a route's body may be.
func (s *server) limitOf(rt Route) int64 {
	if rt.MaxBytes != 0 {
		return min(rt.MaxBytes, s.MaxBodyBytes)
	}
	return s.MaxBodyBytes
}

func (s *server) throttle(ctx context.Context, rt Route, account string) error {
	return s.Limiter.Take(ctx, rt.Throttle, account, RequestOf(ctx).Address)
}

// giveBack gives back the count of a request that succeeded. If that fails the request has succeeded all the same, and
// counts.
func (s *server) giveBack(ctx context.Context, rt Route, account string) {
	if err := s.Limiter.GiveBack(ctx, rt.Throttle, account, RequestOf(ctx).Address); err != nil {
		s.Logger.WarnContext(ctx, "a request that succeeded counts as a guess", "route", rt.Path, "err", err)
	}
}

type callerKey struct{}

// callerOf is the caller that guard admitted; the zero Principal on public routes.
func callerOf(ctx context.Context) principal.Principal {
	caller, _ := ctx.Value(callerKey{}).(principal.Principal)
	return caller
}

// guard admits the callers of a route before anything of the body is read.
func (s *server) guard(rt Route) func(ctx huma.Context, next func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		request, w := humago.Unwrap(ctx)
		// Answers are JSON whatever is asked for, and huma's reader of this header panics on some texts.
		request.Header.Del("Accept")
		caller, err := s.Admit(request, rt)
		if err == nil {
			err = s.checkQuery(rt, request, caller)
		}
		if err != nil {
			s.WriteError(w, request, err)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, caller))
	}
}

// Admit admits the caller of a route. Long answers call it again, to see whether their reader may still read.
func (s *server) Admit(request *http.Request, rt Route) (principal.Principal, error) {
	if rt.GetChanges && request.Method != rt.Method {
		return principal.Principal{}, fault.New(fault.Invalid,
			"this path takes %s only: its answer is what was changed", rt.Method)
	}
	if rt.Mode == Public {
		return principal.Principal{}, nil
	}
	return s.Gate.Admit(request, rt)
}

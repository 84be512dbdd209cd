package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/database/dbtest"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

// registry is a registry of a test, whose servers a function answers for.
func registry(
	t testing.TB, e *testenv.Env, list func(context.Context, discovery.Target) (definition.Server, error),
) *Service {
	t.Helper()
	sealer, err := secret.NewSealer(make([]byte, secret.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Database:   e.DB,
		Log:        e.Log,
		Sealer:     sealer,
		List:       list,
		CheckURL:   func(string) error { return nil },
		MayBePlain: func(string) bool { return true },
	})
}

// asked counts how often each server was asked.
type asked struct {
	mu    sync.Mutex // guards the rest
	times map[string]int
	fail  bool
}

func (a *asked) list(_ context.Context, t discovery.Target) (definition.Server, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.times == nil {
		a.times = map[string]int{}
	}
	a.times[t.URL]++
	if a.fail {
		return definition.Server{}, &discovery.Unreachable{Reason: "away"}
	}
	return definition.Server{Tools: []definition.Tool{{Name: "read", Description: "Reads."}}}, nil
}

// TestWatchIsFair: of each organization a few servers are asked at a time, each by one replica, and a server that does
// not answer holds nothing.
func TestWatchIsFair(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ctx := t.Context()
		a := &asked{}
		one, two := registry(t, e, a.list), registry(t, e, a.list)
		owners := map[string]principal.Principal{}
		for _, org := range []string{"Many", "Few"} {
			id, user := e.Organization(org), e.User(org+"@example.org")
			e.Member(id, user, principal.Owner)
			owners[org] = testenv.Person(user, id, principal.Owner)
		}
		register := func(org string, n int) {
			for i := range n {
				r := Registration{Name: fmt.Sprint("s", i), URL: fmt.Sprintf("https://%s.example.org/%d", org, i)}
				if _, err := one.Register(ctx, owners[org], r); err != nil {
					t.Fatal(err)
				}
			}
		}
		register("Many", 3*perOrg)
		register("Few", 1)
		e.Clock.Pass(2 * WatchEvery)
		a.times = nil
		a.fail = true
		due, err := one.due(ctx)
		if err != nil || len(due) != perOrg+1 {
			t.Fatalf("%d are due, %v", len(due), err)
		}
		var all sync.WaitGroup
		for _, replica := range []*Service{one, two} {
			all.Go(func() {
				for _, of := range due {
					if err := replica.turn(ctx, of); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for url, n := range a.times {
			if n != 1 {
				t.Errorf("%s was asked %d times", url, n)
			}
		}
		st, err := one.StandingOf(ctx, owners["Few"].OrgID)
		if err != nil || st.HoldsAny() {
			t.Errorf("a server that is away holds: %+v, %v", st, err)
		}
		few, checks, err := one.History(ctx, owners["Few"], "s0")
		if err != nil || few.Health.Healthy || few.Health.Problem != "away" || len(checks) != 2 || checks[0].Healthy {
			t.Errorf("%+v, %+v, %v", few.Health, checks, err)
		}
		e.Clock.Pass(2 * keepFor)
		if err := one.Prune(ctx); err != nil {
			t.Fatal(err)
		}
		if _, checks, err = one.History(ctx, owners["Few"], "s0"); err != nil || len(checks) != 0 {
			t.Errorf("%+v, %v", checks, err)
		}
	})
}

// TestAServerThatHangs: the others are asked meanwhile, and answer.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, e *testenv.Env) {
		ctx := t.Context()
		a, hanging, free := &asked{}, make(chan struct{}), make(chan struct{})
		var hangs sync.Once
		registering := true
		s := registry(t, e, func(ctx context.Context, target discovery.Target) (definition.Server, error) {
			if target.URL == "https://hangs.example.org/" && !registering {
				hangs.Do(func() { close(hanging) })
				<-free
				return definition.Server{}, &discovery.Unreachable{Reason: "did not answer"}
			}
			return a.list(ctx, target)
		})
		org, user := e.Organization("Harbour"), e.User("ada@example.org")
		e.Member(org, user, principal.Owner)
		owner := testenv.Person(user, org, principal.Owner)
		for _, name := range []string{"fine", "hangs"} {
			r := Registration{Name: name, URL: "https://" + name + ".example.org/"}
			if _, err := s.Register(ctx, owner, r); err != nil {
				t.Fatal(err)
			}
		}
		registering = false
		e.Clock.Pass(2 * WatchEvery)
		done := make(chan error, 1)
		go func() { done <- s.Watch(ctx) }()
		<-hanging
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			_, checks, err := s.History(ctx, owner, "fine")
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("the other server is not asked meanwhile: %+v, %v", checks, err)
			}
			if len(checks) == 2 && checks[0].Healthy {
				break
			}
		}
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if of, _, err := s.History(ctx, owner, "hangs"); err != nil || of.Health.Healthy {
			t.Errorf("%+v, %v", of.Health, err)
		}
	})
}

// BenchmarkWatch asks a live server over and over, as the watcher does. share-of-core is what 1,000 servers take, the
// work of the asked server included.
func BenchmarkWatch(b *testing.B) {
	tools := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	for i := range 10 {
		tools.AddTool(&sdk.Tool{
			Name: fmt.Sprint("tool", i), Description: "Does something.",
			InputSchema: json.RawMessage(`{"type":"object"}`),
		}, nil)
	}
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, nil))
	defer server.Close()
	e := testenv.New(b, dbtest.SQLite(b))
	s := registry(b, e, func(ctx context.Context, t discovery.Target) (definition.Server, error) {
		return discovery.List(ctx, http.DefaultTransport, t)
	})
	org, user := e.Organization("Bench"), e.User("bench@example.org")
	e.Member(org, user, principal.Owner)
	owner := testenv.Person(user, org, principal.Owner)
	if _, err := s.Register(b.Context(), owner, Registration{Name: "bench", URL: server.URL}); err != nil {
		b.Fatal(err)
	}
	began, n := cpuTime(), 0
	for b.Loop() {
		of, err := find(b.Context(), s.db, org, "bench")
		if err != nil {
			b.Fatal(err)
		}
		if err := s.check(b.Context(), &of, ""); err != nil {
			b.Fatal(err)
		}
		n++
	}
	each := (cpuTime() - began) / time.Duration(n)
	b.ReportMetric(float64(each)*1000/float64(WatchEvery)*100, "share-of-core-%")
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

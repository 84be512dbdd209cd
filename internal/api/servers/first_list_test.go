package servers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/client"
	"writ/internal/mcp"
	"writ/internal/testserver"
)

// startAway starts a server that is away until it arrives.
func startAway(t *testing.T, tools map[string]string) (address string, arrive func()) {
	t.Helper()
	behind, err := url.Parse(startLive(t, tools).URL)
	if err != nil {
		t.Fatal(err)
	}
	behind.Path = ""
	var here atomic.Bool
	front := httputil.NewSingleHostReverseProxy(behind)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !here.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		front.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp", func() { here.Store(true) }
}

// TestAFirstListThatNobodySaw: a server is away when a person registers it, or approves what a key proposes. Whoever
// asks it first, its tools are held until a person accepts what it lists.
func TestAFirstListThatNobodySaw(t *testing.T) {
	t.Parallel()
	for how, ask := range map[string]func(ctx context.Context, o *testserver.Org, address string) error{
		"refresh": func(ctx context.Context, o *testserver.Org, _ string) error {
			_, err := o.Owner.RefreshMCPServer(ctx, o.ID, "math")
			return err
		},
		"scan": func(ctx context.Context, o *testserver.Org, _ string) error {
			_, err := o.Owner.ScanMCPServer(ctx, o.ID, "math")
			return err
		},
		"another address": func(ctx context.Context, o *testserver.Org, address string) error {
			_, err := o.Owner.UpdateMCPServer(ctx, o.ID, "math", m{"url": address + "?by=another"})
			return err
		},
		"watch": func(_ context.Context, o *testserver.Org, _ string) error {
			o.Advance(mcp.WatchEvery + 2*time.Minute) // a sign-in lasts longer
			return nil
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			eachOrg(t, func(t *testing.T, o *testserver.Org) {
				address, arrive := startAway(t, map[string]string{"add": "Adds.", "sub": "Subtracts."})
				key := o.AgentKey(o.Owner, o.ID).APIKey
				o.ActivePolicy(o.Owner, o.ID, allowAll)
				named := client.NewMCPServer{Name: "math", URL: address}
				made, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, named)
				if err != nil || made.Status != "approved" || made.ListedHash != "" ||
					made.Health.Status != "failing" {
					t.Fatalf("%+v, %v", made, err)
				}
				arrive()
				if err := ask(t.Context(), o, address); err != nil {
					t.Fatal(err)
				}
				wantHeldUntilSeen(t, o, key)
			})
		})
	}
}

// TestApprovedBeforeItListed: what a key proposed is approved while it is away. It stays approved, and its first list
// is held.
func TestApprovedBeforeItListed(t *testing.T) {
	t.Parallel()
	eachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		address, arrive := startAway(t, map[string]string{"add": "Adds.", "sub": "Subtracts."})
		key := o.AgentKey(o.Owner, o.ID).APIKey
		o.ActivePolicy(o.Owner, o.ID, allowAll)
		proposed := client.NewMCPServer{Name: "math", URL: address}
		if _, err := o.Public.WithKey(key).RegisterMCPServer(ctx, "", proposed); err != nil {
			t.Fatal(err)
		}
		approved, err := o.Owner.UpdateMCPServer(ctx, o.ID, "math", m{"status": "approved"})
		if err != nil || approved.Status != "approved" || approved.ToolCount != 0 || approved.ListedHash != "" {
			t.Fatalf("%+v, %v", approved, err)
		}
		arrive()
		if _, err := o.Owner.RefreshMCPServer(ctx, o.ID, "math"); err != nil {
			t.Fatal(err)
		}
		wantHeldUntilSeen(t, o, key)
	})
}

// TestAListThatCouldNotBeRead: what follows it is held too, although the server was registered while it answered.
func TestAListThatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	eachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		l := startLive(t, map[string]string{"add": "Adds.", "sub": strings.Repeat("x", 9<<20)})
		key := o.AgentKey(o.Owner, o.ID).APIKey
		o.ActivePolicy(o.Owner, o.ID, allowAll)
		made, err := o.Owner.RegisterMCPServer(ctx, o.ID, client.NewMCPServer{Name: "math", URL: l.URL})
		if err != nil || made.Health.Status != "unreadable" {
			t.Fatalf("%+v, %v", made.Health, err)
		}
		l.set(map[string]string{"add": "Adds.", "sub": "Subtracts."})
		if _, err := o.Owner.RefreshMCPServer(ctx, o.ID, "math"); err != nil {
			t.Fatal(err)
		}
		wantHeldUntilSeen(t, o, key)
	})
}

// TestDefinitionsSentLater: whoever sends what a program lists has seen it, also where it was approved without. It is
// they who have accepted it, and not whoever approved the server.
func TestDefinitionsSentLater(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		_, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: "fs", Transport: "stdio"})
		if err != nil {
			t.Fatal(err)
		}
		listed := []byte(`{"tools":[{"name":"read","description":"Reads.","inputSchema":{}}]}`)
		admin := o.Join(o.Owner, o.ID, "admin")
		said, err := admin.ReportMCPServer(t.Context(), o.ID, "fs", listed)
		if err != nil || said.ToolCount != 1 || said.HeldCount != 0 {
			t.Errorf("%+v, %v", said, err)
		}
		tools, err := o.Owner.MCPTools(t.Context(), o.ID, "fs")
		if err != nil || len(tools) != 1 || tools[0].AcceptedBy == nil || *tools[0].AcceptedBy != admin.ID {
			t.Errorf("%+v, %v", tools, err)
		}
	})
}

// wantHeldUntilSeen wants the two tools of math held, until another admin accepts all that it lists at once.
func wantHeldUntilSeen(t *testing.T, o *testserver.Org, key string) {
	t.Helper()
	ctx := t.Context()
	var found client.MCPServer
	testserver.Soon(t, "the first list is held", func() (ok bool) {
		found, _ = o.Owner.MCPServer(ctx, o.ID, "math")
		return found.ToolCount == 2 && found.HeldCount == 2
	})
	tools, err := o.Owner.MCPTools(ctx, o.ID, "math")
	if err != nil || found.Status != "approved" || tools[0].State != "new" || tools[0].AcceptedBy != nil {
		t.Fatalf("%+v, %+v, %v", found, tools, err)
	}
	if said := decide(t, o, key, "math", "add"); said["decision"] != "hold" || said["decidedBy"] != "writ:mcp" {
		t.Errorf("before: %v", said)
	}
	catalogue := func() string {
		return string(o.Request(t, "GET", "/mcp/tools/math", "", "X-Api-Key", key).Body)
	}
	if got := catalogue(); strings.Contains(got, "Adds.") {
		t.Errorf("SDKs are given what nobody has seen: %s", got)
	}
	accept := func(who *testserver.Person, seen, reason string) (client.MCPServer, error) {
		return who.UpdateMCPServer(ctx, o.ID, "math", m{"status": "approved", "seen": seen, "reason": reason})
	}
	_, err = accept(o.Join(o.Owner, o.ID, "member"), found.ListedHash, "read it")
	testserver.WantStatus(t, "a member accepts", err, http.StatusForbidden)
	_, err = accept(o.Owner, "sha256:0", "read it")
	testserver.WantStatus(t, "accepting what nobody saw", err, http.StatusConflict)
	_, err = accept(o.Owner, found.ListedHash, " ")
	testserver.WantStatus(t, "accepting without a reason", err, http.StatusBadRequest)
	if now, err := accept(o.Owner, "", "read it"); err != nil || now.HeldCount != 2 {
		t.Errorf("approving again without saying what was seen: %+v, %v", now, err)
	}
	admin := o.Join(o.Owner, o.ID, "admin")
	now, err := accept(admin, found.ListedHash, "read it")
	if err != nil || now.HeldCount != 0 || now.ToolCount != 2 || *now.DecidedBy != o.Owner.ID {
		t.Fatalf("%+v, %v", now, err)
	}
	wantAcceptedBy(t, o, admin)
	if said := decide(t, o, key, "math", "add"); said["decision"] != "allow" {
		t.Errorf("accepted: %v", said)
	}
	if got := catalogue(); !strings.Contains(got, "Adds.") {
		t.Errorf("SDKs are not given what was accepted: %s", got)
	}
}

func wantAcceptedBy(t *testing.T, o *testserver.Org, by *testserver.Person) {
	t.Helper()
	tools, err := o.Owner.MCPTools(t.Context(), o.ID, "math")
	isTheirs := func(tool client.MCPTool) bool {
		return tool.State == "pinned" && tool.AcceptedBy != nil && *tool.AcceptedBy == by.ID
	}
	if err != nil || len(tools) != 2 || !isTheirs(tools[0]) || !isTheirs(tools[1]) {
		t.Errorf("%+v, %v", tools, err)
	}
	if got := o.Recorded(o.ID); !slices.Contains(got[len(got)-2:], "mcp.tools_changed") {
		t.Errorf("recorded %v", got)
	}
}

package servers_test

import (
	"testing"

	"writ/client"
	"writ/internal/mcp"
	"writ/internal/mcp/discovery"
	"writ/internal/testserver"
)

// TestServersFromNPM registers, lists, watches and scans server-everything by HTTP, and server-filesystem as
// the program that it is.
func TestServersFromNPM(t *testing.T) {
	t.Parallel()
	url := testserver.StartEverything(t)
	start := []string{"node", testserver.NPMServer(t, "server-filesystem"), t.TempDir()}
	files, err := discovery.ListCommand(t.Context(), start)
	if err != nil || len(files.Tools) < 5 {
		t.Fatalf("%d tools, %v", len(files.Tools), err)
	}
	eachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		made, err := o.Owner.RegisterMCPServer(ctx, o.ID, client.NewMCPServer{Name: "everything", URL: url})
		if err != nil || made.ToolCount < 5 || made.HeldCount != 0 || made.Health.Status != "healthy" ||
			!made.Health.Watched {
			t.Fatalf("%+v, %v", made, err)
		}
		again, err := o.Owner.RefreshMCPServer(ctx, o.ID, "everything")
		if err != nil || again.ListedHash != made.ListedHash || again.HeldCount != 0 {
			t.Errorf("asked again: %+v, %v", again, err)
		}
		fs, err := o.Owner.RegisterMCPServer(ctx, o.ID, client.NewMCPServer{
			Name: "fs", Transport: "stdio", Command: []string{"npx", "server-filesystem", "/srv/app"},
			Definition: []byte(testserver.JSON(t, files)),
		})
		if err != nil || fs.ToolCount != len(files.Tools) || fs.Health.Watched {
			t.Errorf("%+v, %v", fs, err)
		}
		awaitWatcher(t, o, "everything", again)
		for _, name := range []string{"everything", "fs"} {
			if found, err := o.Owner.ScanMCPServer(ctx, o.ID, name); err != nil {
				t.Errorf("scan %s: %+v, %v", name, found, err)
			}
		}
	})
}

// awaitWatcher lets the time pass after which a server is asked again, and waits until the server's own watcher has
// done so, without anybody's request.
func awaitWatcher(t *testing.T, o *testserver.Org, name string, before client.MCPServer) {
	t.Helper()
	checks := func() client.MCPHealth {
		found, err := o.Owner.MCPServerHealth(t.Context(), o.ID, name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	asked := len(checks().History)
	o.Advance(mcp.WatchEvery * 6 / 5) // a sign-in lasts longer
	testserver.Soon(t, name+" is asked again", func() bool { return len(checks().History) > asked })
	now, err := o.Owner.MCPServer(t.Context(), o.ID, name)
	if err != nil || now.ListedHash != before.ListedHash || now.HeldCount != 0 || now.Health.Status != "healthy" ||
		!now.Health.CheckedAt.After(*before.Health.CheckedAt) {
		t.Errorf("watched: %+v, %v", now, err)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// idle measures what sessions cost a fresh writd that nobody uses: those that were only opened, and those that have
// called a tool and so hold a session with its server.
func (b *bench) idle(ctx context.Context, floor *process) error {
	table := newTable(os.Stdout, fmt.Sprintf("memory of %d idle sessions", idleSessions), "before", "with them",
		"more", "target")
	for _, kind := range []struct {
		name  string
		calls bool
	}{{"opened at /proxy/mcp", false}, {"opened, and one call made", true}} {
		folder := filepath.Join(b.folder, "idle-"+fmt.Sprint(kind.calls))
		before, after, err := measureIdle(ctx, onSQLite(b.writd, folder), floor, kind.calls)
		if err != nil {
			return err
		}
		more := float64(after-before) / 1e6
		table.row(kind.name, fmt.Sprintf("%.1f MB", float64(before)/1e6), fmt.Sprintf("%.1f MB", float64(after)/1e6),
			fmt.Sprintf("%.1f MB", more), metOr(more <= 40, idleTarget))
	}
	return table.Flush()
}

func measureIdle(ctx context.Context, i installation, floor *process, calls bool) (before, after int64, err error) {
	server, a, err := startBehind(ctx, i, floor)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sessionsOpenedBy}}
	sessions := make([]*agentSession, idleSessions)
	open := func(n int) (err error) {
		sessions[n], err = openSession(ctx, web, "http://"+server.address+"/proxy/mcp", a.key)
		if err == nil && calls {
			err = sessions[n].echo(ctx, proxyServer+"__echo")
		}
		return err
	}
	if err := open(0); err != nil { // what the first one makes is kept for all
		return 0, 0, err
	}
	if err := server.awaitIdle(); err != nil {
		return 0, 0, err
	}
	if before, err = server.memory(); err != nil {
		return 0, 0, err
	}
	if err := inParallel(idleSessions-1, func(n int) error { return open(n + 1) }); err != nil {
		return 0, 0, fmt.Errorf("open sessions: %w", err)
	}
	if err := server.awaitIdle(); err != nil {
		return 0, 0, err
	}
	after, err = server.memory()
	return before, after, err
}

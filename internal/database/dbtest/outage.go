package dbtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"writ/internal/database"
)

// Line is a connection to PostgreSQL that a test can cut and mend.
type Line struct {
	target string // the server's socket

	loseCommits atomic.Bool

	mu    sync.Mutex // guards the rest
	cut   bool
	conns map[net.Conn]bool
}

// PostgresOnALine is Postgres with a line in between.
func PostgresOnALine(t testing.TB) (database.Options, *Line) {
	t.Helper()
	o := Postgres(t)
	u, err := url.Parse(o.PostgresURL)
	if err != nil {
		t.Fatalf("parse the database URL: %v", err)
	}
	query := u.Query()
	socket := fmt.Sprintf(".s.PGSQL.%s", query.Get("port"))
	line := &Line{target: filepath.Join(query.Get("host"), socket), conns: map[net.Conn]bool{}}
	// Socket paths are limited to about 100 bytes; t.TempDir is often longer.
	dir, err := os.MkdirTemp("", "line")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { listener.Close(); line.Cut() })
	go line.serve(listener)
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return database.Options{PostgresURL: u.String()}, line
}

// Cut ends every connection and refuses new ones.
func (l *Line) Cut() { l.set(true) }

// Mend lets connections through again.
func (l *Line) Mend() { l.set(false) }

// LoseCommits, while on, lets a commit reach the server and breaks the connection before
// the answer: the client cannot know the outcome.
func (l *Line) LoseCommits(on bool) { l.loseCommits.Store(on) }

func (l *Line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for conn := range l.conns {
		conn.Close()
	}
	clear(l.conns)
}

func (l *Line) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the test is over
		}
		go l.join(conn)
	}
}

func (l *Line) join(client net.Conn) {
	server, err := net.Dial("unix", l.target)
	if err != nil {
		client.Close()
		return
	}
	if !l.admit(client, server) {
		return
	}
	var lost atomic.Bool // the next answer of the server must not arrive
	go func() {
		defer client.Close()
		pass(client, server, func([]byte) bool { return !lost.Load() })
	}()
	defer server.Close()
	pass(server, client, func(message []byte) bool {
		if l.loseCommits.Load() && bytes.Contains(bytes.ToLower(message), []byte("commit\x00")) {
			lost.Store(true)
		}
		return true
	})
}

// pass copies messages until either side ends or a message may not pass.
func pass(to io.Writer, from io.Reader, mayPass func(message []byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !mayPass(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *Line) admit(client, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		client.Close()
		server.Close()
		return false
	}
	l.conns[client], l.conns[server] = true, true
	return true
}

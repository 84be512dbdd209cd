package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// relaySettings are what a relay needs.
type relaySettings struct {
	Upstream string `json:"upstream"`
	Folder   string `json:"folder"` // of its database; empty: it records nothing
}

// relay is the least that a proxy on the official SDK does: it passes a call on, and judges nothing. With a database,
// it commits a row before the call and one after it, as a durable decision and a durable report do.
type relay struct {
	upstream string
	db       *sql.DB
}

// relayFloor is an MCP server with the tool of mcpFloor, which calls that one.
func relayFloor(input []byte) (http.Handler, error) {
	var s relaySettings
	if err := json.Unmarshal(input, &s); err != nil {
		return nil, fmt.Errorf("read the settings of the relay: %w", err)
	}
	r := &relay{upstream: s.Upstream}
	if s.Folder != "" {
		db, err := openDurable(filepath.Join(s.Folder, "relay.db"))
		if err == nil {
			_, err = db.Exec(`CREATE TABLE entry (number INTEGER PRIMARY KEY, text TEXT NOT NULL)`)
		}
		if err != nil {
			return nil, fmt.Errorf("make the database of the relay: %w", err)
		}
		r.db = db
	}
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return r.newSession() }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", serve)
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {}) // it is ready
	return mux, nil
}

// openDurable opens an SQLite database as writd does: a commit is on disk when it returns.
func openDurable(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite",
		"file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// newSession is the server of one session, which has a session of its own upstream.
func (r *relay) newSession() *mcp.Server {
	connect := sync.OnceValues(func() (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "relay", Version: "1"}, nil)
		return client.Connect(context.Background(), &mcp.StreamableClientTransport{
			Endpoint: r.upstream, DisableStandaloneSSE: true,
		}, nil)
	})
	server := mcp.NewServer(&mcp.Implementation{Name: proxyServer, Version: "1"}, nil)
	tool := &mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}
	server.AddTool(tool, func(ctx context.Context, c *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		upstream, err := connect()
		if err != nil {
			return nil, err
		}
		if err := r.record(ctx, c.Params.Arguments); err != nil {
			return nil, err
		}
		result, err := upstream.CallTool(ctx, &mcp.CallToolParams{Name: c.Params.Name, Arguments: c.Params.Arguments})
		if err != nil {
			return nil, err
		}
		return result, r.record(ctx, c.Params.Arguments)
	})
	return server
}

func (r *relay) record(ctx context.Context, text []byte) error {
	if r.db == nil {
		return nil
	}
	_, err := r.db.ExecContext(ctx, `INSERT INTO entry (text) VALUES (?)`, string(text))
	return err
}

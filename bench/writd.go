package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"time"
)

// installation is a writd and where it keeps its data.
type installation struct {
	engine      string
	program     string
	folder      string   // its data folder, made by the first start
	settings    []string // what its engine needs, as NAME=value
	firstStarts int      // how often it can start on nothing
}

// sqliteEngine is how tables name what needs no server.
const sqliteEngine = "SQLite"

// starts is how many starts of a kind are measured.
const starts = 7

func onSQLite(program, folder string) installation {
	return installation{engine: sqliteEngine, program: program, folder: folder, firstStarts: starts}
}

// onPostgreSQL is on a database that we cannot empty, so its first start is one.
func onPostgreSQL(program, folder, url string) installation {
	key := make([]byte, 32)
	rand.Read(key)
	return installation{
		engine: "PostgreSQL", program: program, folder: folder, firstStarts: 1,
		settings: []string{"DATABASE_URL=" + url, "WRIT_MASTER_KEY=" + base64.StdEncoding.EncodeToString(key)},
	}
}

// start runs writd and returns it ready, with the time that took.
func (i installation) start(ctx context.Context) (*process, time.Duration, error) {
	return startProcess(ctx, func(port int) command {
		return command{
			program:     i.program,
			arguments:   []string{"serve"},
			environment: append(i.environment(), "PORT="+strconv.Itoa(port)),
		}
	})
}

// environment says to writd where its data is.
func (i installation) environment() []string {
	return append(append(cleanEnvironment(), "WRIT_DATA_DIR="+i.folder), i.settings...)
}

// cleanEnvironment is ours without what would configure writd. GOGC and its
// like stay: whoever sets them means to measure them.
func cleanEnvironment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "WRIT_") && !strings.HasPrefix(name, "DATABASE_URL") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// currentKey is the request that is measured: what this key is.
func (i installation) currentKey(server *process) (target, error) {
	first, err := i.firstRun()
	if err != nil {
		return target{}, err
	}
	return newTarget(server, "/api-keys/current", first.APIKey)
}

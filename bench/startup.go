package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

const (
	idleAfter    = 3 * time.Second // from ready, for the memory of an idle server
	warmRequests = 10_000          // served before memory is read again
)

// startup is how an installation starts, and what it holds then.
type startup struct {
	engine    string
	first     []time.Duration // starts on nothing: makes the database and hashes a password
	later     []time.Duration // starts on what is there
	idleFirst int64           // bytes, a while after a first start
	idle      int64           // the same after a later start
	warm      int64           // then, after warmRequests
}

// measureStartup starts the installation over and over. It leaves it on the
// data of the last first start.
func measureStartup(ctx context.Context, i *installation, connections int) (s startup, err error) {
	s.engine = i.engine
	base := i.folder
	for n := range i.firstStarts {
		i.folder = filepath.Join(base, strconv.Itoa(n))
		last := n == i.firstStarts-1
		err := i.whileRunning(ctx, &s.first, func(server *process) (err error) {
			if last {
				s.idleFirst, err = idleMemory(ctx, server)
			}
			return err
		})
		if err != nil {
			return s, fmt.Errorf("first start: %w", err)
		}
	}
	for n := range starts {
		last := n == starts-1
		err := i.whileRunning(ctx, &s.later, func(server *process) (err error) {
			if last {
				s.idle, s.warm, err = i.memories(ctx, server, connections)
			}
			return err
		})
		if err != nil {
			return s, fmt.Errorf("later start: %w", err)
		}
	}
	return s, nil
}

// whileRunning starts the installation, notes the time, calls do and stops it.
func (i installation) whileRunning(ctx context.Context, times *[]time.Duration, do func(*process) error) error {
	server, took, err := i.start(ctx)
	if err != nil {
		return err
	}
	*times = append(*times, took)
	return errors.Join(do(server), server.stop())
}

// memories reads the memory of a server that only became ready, and again after
// it has served.
func (i installation) memories(ctx context.Context, server *process, connections int) (idle, warm int64, err error) {
	if idle, err = idleMemory(ctx, server); err != nil {
		return 0, 0, err
	}
	t, err := i.currentKey(server)
	if err != nil {
		return 0, 0, err
	}
	if err := t.askTimes(warmRequests, connections); err != nil {
		return 0, 0, err
	}
	warm, err = server.memory()
	return idle, warm, err
}

func idleMemory(ctx context.Context, server *process) (int64, error) {
	select {
	case <-time.After(idleAfter):
		return server.memory()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

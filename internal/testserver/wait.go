package testserver

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Buffer is a log that a test can read while it is written.
type Buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write appends to the log.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Soon waits until something holds that happens in the background.
func Soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// Eventually tries until it works or the time is up, and returns the error of the
// last try.
func Eventually(try func() error) (err error) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

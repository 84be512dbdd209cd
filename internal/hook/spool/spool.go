// Package spool keeps what hooks could not send until a later hook can: reports of what ran, and traces of turns.
//
// It never makes a tool wait. Adding writes one small file. A spool that is full drops its oldest, traces
// before reports, and counts them; a call whose report is lost is a finding of the server. Sending takes each
// item by renaming it, so hooks that run side by side do not send it twice; the server knows those that come
// twice all the same. One item that the server refuses for good is dropped and does not hold up the others.
package spool

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"writ/internal/hook/private"
)

// Limits of a spool.
const (
	MaxItems = 1000
	MaxBytes = 64 << 20
	MaxItem  = 960 << 10 // a server takes 1 MiB by default
	maxAge   = 7 * 24 * time.Hour
	maxDrops = 1 << 20 // that are counted
)

// Kind is what an item is.
type Kind string

// The kinds, in the order in which they are sent.
const (
	Report Kind = "report" // a row of POST /iap/audit/batch
	Trace  Kind = "trace"  // a batch of POST /observability/spans
)

var kinds = []Kind{Report, Trace}

const (
	dropsFile = "dropped"
	suffix    = ".json"
	sending   = ".sending"
	// claim is how long a hook may take to send an item before another one does.
	claim = time.Minute
)

// Spool is the items for one server and key.
type Spool struct {
	folder string
	sealer private.Sealer
	now    func() time.Time
}

// Open opens the spool below a folder, and makes it if need be. The secret is that of the server and key:
// what waits for another server is never sent to this one.
func Open(folder, secret string, now func() time.Time) (*Spool, error) {
	sealer := private.NewSealer(secret)
	s := &Spool{
		folder: filepath.Join(folder, "spool", sealer.Seal(nil, "spool")),
		sealer: sealer,
		now:    now,
	}
	if err := private.Folder(s.folder); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return s, nil
}

// item is a file of the spool.
type item struct {
	name string
	kind Kind
	at   time.Time
	size int64
	held bool // by a hook that sends it
}

// content is what is in the file.
type content struct {
	Kind Kind            `json:"kind"`
	Body json.RawMessage `json:"body"`
	Seal string          `json:"seal"`
}

// Add keeps an item. It drops older ones if there is no room.
func (s *Spool) Add(kind Kind, body json.RawMessage) error {
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("spool: there is no kind %q", kind)
	}
	body, err := json.Marshal(body) // as it will be read, which is what the seal is for
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	text, err := json.Marshal(content{Kind: kind, Body: body, Seal: s.sealer.Seal(body, "item", string(kind))})
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if len(text) > MaxItem {
		s.countDrop()
		return fmt.Errorf("spool: an item has more than %d bytes", MaxItem)
	}
	if err := s.makeRoom(int64(len(text))); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%016x-%s%s", kind, s.now().UnixNano(), rand.Text()[:8], suffix)
	if err := private.Replace(filepath.Join(s.folder, name), text); err != nil {
		s.countDrop()
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// makeRoom drops the oldest items until another fits.
func (s *Spool) makeRoom(size int64) error {
	items, err := s.items()
	if err != nil {
		return err
	}
	total := size
	for _, it := range items {
		total += it.size
	}
	count := len(items) + 1
	slices.SortStableFunc(items, func(a, b item) int {
		return slices.Index(kinds, b.kind) - slices.Index(kinds, a.kind) // traces first
	})
	for _, it := range items {
		if count <= MaxItems && total <= MaxBytes {
			return nil
		}
		s.drop(it)
		count, total = count-1, total-it.size
	}
	return nil
}

// items lists what waits, the oldest first.
func (s *Spool) items() ([]item, error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", private.WithoutPath(err))
	}
	var items []item
	for _, entry := range entries {
		it, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		it.size = info.Size()
		if it.held && s.now().Sub(info.ModTime()) > claim {
			it.held = false // whoever held it was killed
		}
		items = append(items, it)
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.at.Compare(b.at) })
	return items, nil
}

// parseName reads KIND-TIME-CHANCE.json, and .sending behind it.
func parseName(name string) (it item, ok bool) {
	it.name = name
	rest, held := strings.CutSuffix(name, sending)
	rest, isItem := strings.CutSuffix(rest, suffix)
	parts := strings.Split(rest, "-")
	if !isItem || len(parts) != 3 || !slices.Contains(kinds, Kind(parts[0])) {
		return it, false
	}
	nanos, err := strconv.ParseInt(parts[1], 16, 64)
	it.kind, it.at, it.held = Kind(parts[0]), time.Unix(0, nanos), held
	return it, err == nil
}

func (s *Spool) drop(it item) {
	if os.Remove(filepath.Join(s.folder, it.name)) == nil {
		s.countDrop()
	}
}

// countDrop counts by one byte in a file: hooks that count at the same time do not disturb each other.
func (s *Spool) countDrop() {
	if s.Dropped() >= maxDrops {
		return
	}
	file, err := private.Open(filepath.Join(s.folder, dropsFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return // the count is for people; the server finds calls without an outcome by itself
	}
	_, _ = file.Write([]byte{'.'})
	_ = file.Close()
}

// Dropped is how many items were lost.
func (s *Spool) Dropped() int64 {
	info, err := os.Lstat(filepath.Join(s.folder, dropsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// Waiting is how many items wait.
func (s *Spool) Waiting() (int, error) {
	items, err := s.items()
	return len(items), err
}

// ErrRefused says that the server will never take an item.
var ErrRefused = errors.New("the server refuses it")

package spool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/hook/spool"
)

const secret = "https://writ.example.org/ key-of-a-test"

// clock is a clock that goes on by itself, so that items have an order.
type clock struct {
	sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.Lock()
	defer c.Unlock()
	c.at = c.at.Add(time.Millisecond)
	return c.at
}

func (c *clock) wait(d time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.at = c.at.Add(d)
}

func open(t *testing.T, folder string) (*spool.Spool, *clock) {
	t.Helper()
	c := &clock{at: time.Now()}
	s, err := spool.Open(folder, secret, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func add(t *testing.T, s *spool.Spool, kind spool.Kind, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(kind, body); err != nil {
		t.Fatalf("add: %v", err)
	}
}

// server takes items, or says why not.
type server struct {
	sync.Mutex
	got  []string
	fail func(text string) error
}

func (s *server) deliver(_ context.Context, kind spool.Kind, bodies []json.RawMessage) error {
	s.Lock()
	defer s.Unlock()
	var taken []string
	for _, body := range bodies {
		var row struct{ Text string }
		if err := json.Unmarshal(body, &row); err != nil {
			return err
		}
		if s.fail != nil {
			if err := s.fail(row.Text); err != nil {
				return err
			}
		}
		taken = append(taken, string(kind)+":"+row.Text)
	}
	s.got = append(s.got, taken...)
	return nil
}

func waiting(t *testing.T, s *spool.Spool) int {
	t.Helper()
	n, err := s.Waiting()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSendInOrder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, _ := open(t, folder)
	for i := range 120 {
		add(t, s, spool.Trace, fmt.Sprint("t<", i))
		add(t, s, spool.Report, fmt.Sprint("r", i))
	}
	var want []string
	for _, kind := range []string{"report:r", "trace:t<"} {
		for i := range 120 {
			want = append(want, fmt.Sprint(kind, i))
		}
	}
	var to server
	sent, err := s.Send(t.Context(), to.deliver)
	if err != nil || sent != 240 || strings.Join(to.got, " ") != strings.Join(want, " ") {
		t.Errorf("%d sent, %v:\n%v", sent, err, to.got)
	}
	if waiting(t, s) != 0 || s.Dropped() != 0 {
		t.Errorf("%d wait, %d dropped", waiting(t, s), s.Dropped())
	}
}

// TestWhatIsNotTakenWaits: a server that is down loses nothing, and a later hook sends all of it.
func TestWhatIsNotTakenWaits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, _ := open(t, folder)
	for i := range 60 {
		add(t, s, spool.Report, fmt.Sprint(i))
	}
	down := server{fail: func(text string) error {
		if text == "55" {
			return errors.New("the server is down")
		}
		return nil
	}}
	if sent, err := s.Send(t.Context(), down.deliver); err == nil || sent != 50 || waiting(t, s) != 10 {
		t.Fatalf("%d sent, %d wait, %v", sent, waiting(t, s), err)
	}
	later, _ := open(t, folder)
	var up server
	if sent, err := later.Send(t.Context(), up.deliver); err != nil || sent != 10 || up.got[0] != "report:50" {
		t.Errorf("%d sent, %v: %v", sent, err, up.got)
	}
}

// TestOneBadItem: what the server refuses for good does not hold up the others.
func TestOneBadItem(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for i := range 10 {
		add(t, s, spool.Report, fmt.Sprint(i))
	}
	to := server{fail: func(text string) error {
		if text == "3" {
			return fmt.Errorf("row 3: %w", spool.ErrRefused)
		}
		return nil
	}}
	sent, err := s.Send(t.Context(), to.deliver)
	if err != nil || sent != 9 || waiting(t, s) != 0 || s.Dropped() != 1 {
		t.Errorf("%d sent, %d wait, %d dropped, %v", sent, waiting(t, s), s.Dropped(), err)
	}
}

func TestFullSpoolDropsTheOldestTracesFirst(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	add(t, s, spool.Report, "first")
	for i := range spool.MaxItems {
		add(t, s, spool.Trace, fmt.Sprint(i))
	}
	add(t, s, spool.Report, "last")
	var to server
	if _, err := s.Send(t.Context(), to.deliver); err != nil {
		t.Fatal(err)
	}
	if len(to.got) != spool.MaxItems || s.Dropped() != 2 {
		t.Errorf("%d sent, %d dropped", len(to.got), s.Dropped())
	}
	if to.got[0] != "report:first" || to.got[1] != "report:last" || to.got[2] != "trace:2" {
		t.Errorf("sent first: %v", to.got[:3])
	}
}

func TestSpoolIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, _ := open(t, folder)
	for range 90 {
		add(t, s, spool.Report, strings.Repeat("x", 900<<10))
	}
	total := int64(0)
	err := filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if info, infoErr := entry.Info(); infoErr == nil && !entry.IsDir() {
			total += info.Size()
		}
		return err
	})
	if err != nil || total > spool.MaxBytes+1<<10 || s.Dropped() == 0 {
		t.Errorf("%d bytes, %d dropped, %v", total, s.Dropped(), err)
	}
	if err := s.Add(spool.Report, json.RawMessage(`"`+strings.Repeat("x", spool.MaxItem)+`"`)); err == nil {
		t.Error("an item that is too large is no error")
	}
	if err := s.Add("secret", json.RawMessage(`{}`)); err == nil {
		t.Error("another kind is no error")
	}
}

// TestManySenders: hooks that send at the same time send each item once.
func TestManySenders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, _ := open(t, folder)
	const items = 200
	for i := range items {
		add(t, s, spool.Report, fmt.Sprint(i))
	}
	var to server
	var all sync.WaitGroup
	for range 6 {
		other, _ := open(t, folder)
		all.Go(func() {
			if _, err := other.Send(t.Context(), to.deliver); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := map[string]int{}
	for _, one := range to.got {
		seen[one]++
	}
	if len(seen) != items || len(to.got) != items || waiting(t, s) != 0 {
		t.Errorf("%d items were sent %d times, %d wait", len(seen), len(to.got), waiting(t, s))
	}
}

// TestKilledSender: what a hook held when it was killed is sent by another one, but not at once.
func TestKilledSender(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, c := open(t, folder)
	add(t, s, spool.Report, "1")
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") {
			return errors.Join(os.Chtimes(path, c.now(), c.now()), os.Rename(path, path+".sending"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var to server
	if sent, err := s.Send(t.Context(), to.deliver); err != nil || sent != 0 {
		t.Fatalf("%d sent while another hook sends it, %v", sent, err)
	}
	c.wait(2 * time.Minute)
	if sent, err := s.Send(t.Context(), to.deliver); err != nil || sent != 1 || waiting(t, s) != 0 {
		t.Errorf("%d sent, %d wait, %v", sent, waiting(t, s), err)
	}
}

func TestWhatIsNotOursIsNotSent(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(path, text string) error{
		"edited": func(path, text string) error {
			return os.WriteFile(path, []byte(strings.Replace(text, "mine", "yours", 1)), 0o600)
		},
		"of another kind": func(path, _ string) error {
			return os.Rename(path, strings.Replace(path, "report-", "trace-", 1))
		},
		"others may write": func(path, _ string) error { return os.Chmod(path, 0o666) },
		"no JSON":          func(path, _ string) error { return os.WriteFile(path, []byte("nonsense"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			s, _ := open(t, folder)
			add(t, s, spool.Report, "mine")
			err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				return errors.Join(err, edit(path, string(text)))
			})
			if err != nil {
				t.Fatal(err)
			}
			var to server
			if sent, err := s.Send(t.Context(), to.deliver); err != nil || sent != 0 || len(to.got) != 0 ||
				s.Dropped() != 1 {
				t.Errorf("%d sent, %d dropped, %v: %v", sent, s.Dropped(), err, to.got)
			}
		})
	}
}

func TestOldItemsAndOtherServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, c := open(t, folder)
	add(t, s, spool.Report, "old")
	other, err := spool.Open(folder, "another server", c.now)
	if err != nil {
		t.Fatal(err)
	}
	var to server
	if sent, err := other.Send(t.Context(), to.deliver); err != nil || sent != 0 {
		t.Errorf("another server gets %d items, %v", sent, err)
	}
	c.wait(8 * 24 * time.Hour)
	if sent, err := s.Send(t.Context(), to.deliver); err != nil || sent != 0 || s.Dropped() != 1 {
		t.Errorf("%d sent, %d dropped, %v", sent, s.Dropped(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	add(t, s, spool.Report, "new")
	if sent, err := s.Send(ended, to.deliver); err == nil || sent != 0 || waiting(t, s) != 1 {
		t.Errorf("%d sent after the end, %v", sent, err)
	}
}

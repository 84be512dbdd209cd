package spool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"writ/internal/hook/private"
)

// How much goes into one request.
const (
	maxBatch      = 50
	maxBatchBytes = 768 << 10 // a server takes 1 MiB by default
)

// Deliver sends items of one kind. With ErrRefused the server will never take them; after any other error they wait.
type Deliver func(ctx context.Context, kind Kind, bodies []json.RawMessage) error

// Send sends what waits, reports first, the oldest first, until all is sent, something fails, or the context ends. It
// returns how many items the server took.
func (s *Spool) Send(ctx context.Context, deliver Deliver) (sent int, err error) {
	items, err := s.items()
	if err != nil {
		return 0, err
	}
	for _, kind := range kinds {
		for rest := only(items, kind); len(rest) > 0; {
			batch := rest[:batchOf(rest)]
			rest = rest[len(batch):]
			if ctx.Err() != nil {
				return sent, ctx.Err()
			}
			n, err := s.sendBatch(ctx, kind, batch, deliver)
			sent += n
			if err != nil {
				return sent, err
			}
		}
	}
	return sent, nil
}

// only is the items of a kind that no other hook sends.
func only(items []item, kind Kind) (some []item) {
	for _, it := range items {
		if it.kind == kind && !it.held {
			some = append(some, it)
		}
	}
	return some
}

// batchOf is how many of the items go into one request, at least one.
func batchOf(items []item) int {
	size := int64(0)
	for i, it := range items[:min(len(items), maxBatch)] {
		size += it.size
		if i > 0 && size > maxBatchBytes {
			return i
		}
	}
	return min(len(items), maxBatch)
}

// sendBatch sends some items together, and one by one if the server refuses them: one bad item must not take the others
// with it.
func (s *Spool) sendBatch(ctx context.Context, kind Kind, batch []item, deliver Deliver) (sent int, err error) {
	held, bodies := s.take(batch)
	if len(held) == 0 {
		return 0, nil
	}
	err = deliver(ctx, kind, bodies)
	if errors.Is(err, ErrRefused) && len(held) > 1 {
		return s.sendSingly(ctx, kind, held, bodies, deliver)
	}
	return s.settle(held, err)
}

func (s *Spool) sendSingly(
	ctx context.Context, kind Kind, held []item, bodies []json.RawMessage, deliver Deliver,
) (sent int, err error) {
	for i := range held {
		n, err := s.settle(held[i:i+1], deliver(ctx, kind, bodies[i:i+1]))
		sent += n
		if err != nil {
			s.release(held[i+1:])
			return sent, err
		}
	}
	return sent, nil
}

// settle removes what was sent or refused, and lets the rest wait.
func (s *Spool) settle(held []item, err error) (sent int, failed error) {
	switch {
	case err == nil:
		for _, it := range held {
			_ = os.Remove(filepath.Join(s.folder, it.name)) // if it stays, the server knows it when it comes again
		}
		return len(held), nil
	case errors.Is(err, ErrRefused):
		for _, it := range held {
			s.drop(it)
		}
		return 0, nil
	}
	s.release(held)
	return 0, err
}

// take takes items from other hooks that send, and reads them. What is too old or edited is dropped.
func (s *Spool) take(batch []item) (held []item, bodies []json.RawMessage) {
	for _, it := range batch {
		from := filepath.Join(s.folder, it.name)
		it.name = plainName(it.name) + sending
		now := s.now()
		// The time of the claim is that of the file, and a rename does not change it.
		if os.Chtimes(from, now, now) != nil || os.Rename(from, filepath.Join(s.folder, it.name)) != nil {
			continue
		}
		body, err := s.read(it)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil, now.Sub(it.at) > maxAge:
			s.drop(it)
		default:
			held, bodies = append(held, it), append(bodies, body)
		}
	}
	return held, bodies
}

func (s *Spool) release(held []item) {
	for _, it := range held {
		_ = os.Rename(filepath.Join(s.folder, it.name), filepath.Join(s.folder, plainName(it.name)))
	}
}

func plainName(name string) string {
	if len(name) > len(sending) && name[len(name)-len(sending):] == sending {
		return name[:len(name)-len(sending)]
	}
	return name
}

// read reads an item that a hook wrote.
func (s *Spool) read(it item) (json.RawMessage, error) {
	text, err := private.Read(filepath.Join(s.folder, it.name), MaxItem)
	if err != nil {
		return nil, err
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if c.Kind != it.kind || !s.sealer.Holds(c.Seal, c.Body, "item", string(c.Kind)) {
		return nil, errors.New("somebody edited it")
	}
	return c.Body, nil
}

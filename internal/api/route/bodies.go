package route

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"writ/internal/fault"
)

const (
	// allBodies bounds what the bodies being read hold together, in bytes.
	allBodies = 256 << 20
	// zstdWindow is the largest window a sender may ask us to hold.
	zstdWindow = 8 << 20
)

// Bodies reads the bodies of routes that are served by hand, within memory that they share. Beyond it senders are
// told to come back later.
type Bodies struct{ used atomic.Int64 }

func (b *Bodies) take(n int64) error {
	if b.used.Add(n) > allBodies {
		b.used.Add(-n)
		busy := fault.New(fault.Unavailable, "too much is being received at once; try again")
		busy.RetryAfter = 2 * time.Second
		return busy
	}
	return nil
}

// Read reads a whole body, decompressed, within a limit. release gives its memory back, and must be called when the
// body is no longer used.
func (b *Bodies) Read(r *http.Request, limit int64) (body []byte, release func(), err error) {
	held := int64(0)
	release = func() { b.used.Add(-held); held = 0 }
	if r.ContentLength > limit {
		return nil, release, tooLarge(limit) // before anything is read
	}
	source, done, err := decompress(r)
	if err != nil {
		return nil, release, err
	}
	defer done()
	source = io.LimitReader(source, limit+1)
	for body = make([]byte, 0, firstSize(r)); ; {
		if grown := int64(cap(body)); grown > held {
			if err := b.take(grown - held); err != nil {
				return nil, release, err
			}
			held = grown
		}
		n, err := source.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, release, tooLarge(limit)
		case errors.Is(err, io.EOF):
			return body, release, nil
		case err != nil:
			return nil, release, fault.Wrap(err, fault.Invalid, "the request body could not be read")
		case len(body) == cap(body):
			body = append(body, 0)[:len(body)] // grow
		}
	}
}

// firstSize is how much memory a body begins with: no more than it needs where that is known, because most are small
// and frequent.
func firstSize(r *http.Request) int64 {
	if r.ContentLength >= 0 && r.Header.Get("Content-Encoding") == "" {
		return r.ContentLength + 1 // so that its end is seen without growing
	}
	return max(r.ContentLength, 16<<10)
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the request body is larger than %d bytes", limit)
}

// decompress is the body as its Content-Encoding says. What a small body may grow to is bounded by the reader's
// limit, not by what the body claims.
func decompress(r *http.Request) (source io.Reader, done func(), err error) {
	none := func() {}
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return r.Body, none, nil
	case "gzip":
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, none, fault.Wrap(err, fault.Invalid, "the request body is not gzip")
		}
		return unzipped, none, nil
	case "zstd":
		unpacked, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, none, fault.Wrap(err, fault.Invalid, "the request body is not zstd")
		}
		return unpacked, unpacked.Close, nil
	default:
		return nil, none, fault.New(fault.Invalid, "Content-Encoding: must be gzip, zstd or none")
	}
}

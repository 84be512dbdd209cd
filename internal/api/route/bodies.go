package route

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"writ/internal/fault"
)

const (
	// zstdWindow is the largest window a sender may ask us to hold.
	zstdWindow = 8 << 20
	// A packed body may unpack to maxExpansion times its size, and to freeExpansion whatever its size. Telemetry packs
	// to a tenth or a twentieth; gzip could reach a thousandth.
	maxExpansion  = 100
	freeExpansion = 1 << 20
)

// Bodies reads the bodies of routes that are served by hand, within memory that they share. Beyond it senders are
// told to come back later, except that one body alone always has room. What was released counts too until it is
// collected: a burst of large bodies, mostly refused, would else leave several times the limit as garbage.
type Bodies struct {
	Limit   int64  // in bytes, of what the bodies being read hold together, with their garbage
	Collect func() // collects garbage; nil: runtime.GC

	used       atomic.Int64
	garbage    atomic.Int64
	collecting sync.Mutex
}

// collect makes room for what is used, if garbage is in its way.
func (b *Bodies) collect() {
	b.collecting.Lock()
	defer b.collecting.Unlock()
	garbage := b.garbage.Load()
	if garbage == 0 || b.used.Load()+garbage <= b.Limit {
		return // another caller has collected it
	}
	if b.Collect != nil {
		b.Collect()
	} else {
		runtime.GC()
	}
	b.garbage.Add(-garbage)
}

// Received is the body of a request, decompressed, and the memory that it and its decoded forms take.
type Received struct {
	Bytes []byte

	shared *Bodies
	held   int64
}

// Take counts memory before it is used, such as that of a decoded form.
func (b *Received) Take(n int64) error {
	all := b.shared.used.Add(n)
	if isAlone := all == b.held+n; all > b.shared.Limit && !isAlone {
		b.shared.used.Add(-n)
		busy := fault.New(fault.Unavailable, "too much is being received at once; try again")
		busy.RetryAfter = 2 * time.Second
		return busy
	}
	b.held += n
	if all+b.shared.garbage.Load() > b.shared.Limit {
		b.shared.collect()
	}
	return nil
}

// give returns memory that is no longer used.
func (b *Received) give(n int64) {
	b.shared.garbage.Add(n)
	b.shared.used.Add(-n)
	b.held -= n
}

// Release returns all memory. It must be called when neither the body nor what was decoded from it is used any more.
func (b *Received) Release() { b.give(b.held) }

// Read is Open for routes whose decoded forms are small. release must be called when the body is no longer used.
func (b *Bodies) Read(r *http.Request, limit int64) (body []byte, release func(), err error) {
	opened, err := b.Open(r, limit)
	return opened.Bytes, opened.Release, err
}

// Open reads a whole body, decompressed, within a limit. The caller releases it, also after an error.
func (b *Bodies) Open(r *http.Request, limit int64) (*Received, error) {
	body := &Received{shared: b}
	if r.ContentLength > limit {
		return body, tooLarge(limit) // before anything is read
	}
	source, done, err := decompress(r)
	if err != nil {
		return body, err
	}
	defer done()
	if err := body.grow(firstSize(r)); err != nil {
		return body, err
	}
	if err := body.readAll(io.LimitReader(source, limit+1), limit); err != nil {
		body.Bytes = nil
		return body, err
	}
	return body, nil
}

func (b *Received) readAll(source io.Reader, limit int64) error {
	for {
		n, err := source.Read(b.Bytes[len(b.Bytes):cap(b.Bytes)])
		b.Bytes = b.Bytes[:len(b.Bytes)+n]
		switch {
		case int64(len(b.Bytes)) > limit:
			return tooLarge(limit)
		case errors.Is(err, io.EOF):
			return nil
		case fault.Is(err, fault.TooLarge):
			return err
		case err != nil:
			return fault.Wrap(err, fault.Invalid, "the request body could not be read")
		case len(b.Bytes) == cap(b.Bytes):
			size := int64(cap(b.Bytes))
			if err := b.grow(min(size+max(size/2, 16<<10), limit+1)); err != nil {
				return err
			}
		}
	}
}

// grow moves the body to memory of a larger size. Both are counted while both are there.
func (b *Received) grow(size int64) error {
	before := int64(cap(b.Bytes))
	if err := b.Take(size); err != nil {
		return err
	}
	b.Bytes = append(make([]byte, 0, size), b.Bytes...)
	b.give(before)
	return nil
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

// decompress is the body as its Content-Encoding says, as far as it does not expand too much.
func decompress(r *http.Request) (source io.Reader, done func(), err error) {
	none := func() {}
	packed := &countingReader{from: r.Body}
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return r.Body, none, nil
	case "gzip":
		unzipped, err := gzip.NewReader(packed)
		if err != nil {
			return nil, none, fault.Wrap(err, fault.Invalid, "the request body is not gzip")
		}
		return &expansion{packed: packed, from: unzipped}, none, nil
	case "zstd":
		unpacked, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, none, fault.Wrap(err, fault.Invalid, "the request body is not zstd")
		}
		return &expansion{packed: packed, from: unpacked}, unpacked.Close, nil
	default:
		return nil, none, fault.New(fault.Invalid, "Content-Encoding: must be gzip, zstd or none")
	}
}

// countingReader counts what was read.
type countingReader struct {
	from io.Reader
	read int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	return n, err
}

// expansion reads what a packed body unpacks to, and stops where that is out of proportion.
type expansion struct {
	packed *countingReader
	from   io.Reader
	read   int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if e.read += int64(n); e.read > freeExpansion+maxExpansion*e.packed.read {
		return n, fault.New(fault.TooLarge, "the request body unpacks to more than %d times its size", maxExpansion)
	}
	return n, err
}

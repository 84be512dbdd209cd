package route_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"

	"writ/internal/api/route"
	"writ/internal/fault"
)

// packed is a request with a packed body.
func packed(t *testing.T, encoding string, content []byte) *http.Request {
	t.Helper()
	var body bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&body)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&body)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", &body)
	r.Header.Set("Content-Encoding", encoding)
	return r
}

// varied is content that packs to about a fifteenth.
func varied(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 0, size+60)
	for len(content) < size {
		content = append(content, bytes.Repeat([]byte{byte('a' + random.IntN(26))}, 20+random.IntN(20))...)
	}
	return content[:size]
}

func TestBodiesMustNotExpandTooMuch(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	for _, encoding := range []string{"gzip", "zstd"} {
		bodies := &route.Bodies{Limit: 256 << 20}
		bomb, err := bodies.Open(packed(t, encoding, make([]byte, 60<<20)), limit)
		if !fault.Is(err, fault.TooLarge) || bomb.Bytes != nil {
			t.Errorf("%s of 60 MB of zeros: %d bytes, %v", encoding, len(bomb.Bytes), err)
		}
		bomb.Release()
		for name, content := range map[string][]byte{
			"a megabyte of zeros": make([]byte, 1<<20), "20 MB of telemetry": varied(20 << 20), "nothing": {},
		} {
			got, err := bodies.Open(packed(t, encoding, content), limit)
			if err != nil || !bytes.Equal(got.Bytes, content) {
				t.Errorf("%s of %s: %d of %d bytes, %v", encoding, name, len(got.Bytes), len(content), err)
			}
			got.Release()
		}
	}
}

// Bodies and what is decoded from them share one budget, while they grow. One alone always has room, and what was
// released can be used again.
func TestBodiesShareTheirMemory(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	bodies := &route.Bodies{Limit: 4 << 20}
	plain := func(size int) *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, size)))
	}
	for range 3 {
		large, err := bodies.Open(plain(7<<20), limit)
		if err != nil {
			t.Fatalf("a body alone: %v", err)
		}
		if err := large.Take(20 << 20); err != nil {
			t.Fatalf("its decoded form: %v", err)
		}
		refused, err := bodies.Open(plain(1), limit)
		if f := fault.KindOf(err); f != fault.Unavailable {
			t.Errorf("a second body: %v", err)
		}
		refused.Release()
		large.Release()

		small, err := bodies.Open(plain(1<<20), limit)
		if err != nil {
			t.Fatal(err)
		}
		growing, err := bodies.Open(packed(t, "gzip", varied(5<<20)), limit)
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("a packed body that grows beyond the budget: %v", err)
		}
		growing.Release()
		if err := small.Take(2 << 20); err != nil {
			t.Errorf("what was refused still counts: %v", err)
		}
		small.Release()
	}
}

// TestGarbageCounts: between two collections, bodies and what was left of others never take more than the limit.
func TestGarbageCounts(t *testing.T) {
	t.Parallel()
	const limit, each, rounds = 16 << 20, 1 << 20, 100
	var sinceCollected, collections int64
	bodies := &route.Bodies{Limit: limit, Collect: func() {
		sinceCollected = 0
		collections++
	}}
	read := func(r *http.Request) {
		t.Helper()
		body, err := bodies.Open(r, 8<<20)
		if err != nil && !fault.Is(err, fault.TooLarge) {
			t.Fatal(err)
		}
		if sinceCollected += int64(cap(body.Bytes)); sinceCollected > limit {
			t.Fatalf("%d bytes since the last collection", sinceCollected)
		}
		body.Release()
	}
	for range rounds {
		read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, each))))
	}
	if least := int64(rounds*each/limit) - 1; collections < least || collections > 2*least+2 {
		t.Errorf("%d collections of %d bytes each, want about %d", collections, limit, least)
	}
	before := collections
	for range 2 { // each grows to more than the limit of a body, and is refused
		read(packed(t, "gzip", varied(9<<20)))
	}
	if collections < before+2 {
		t.Errorf("%d collections after bodies that were refused", collections-before)
	}
	// What is small and released at once costs no collection.
	before = collections
	for range 50 {
		read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, 1<<10))))
	}
	if collections > before+1 {
		t.Errorf("%d collections after small bodies", collections-before)
	}
}

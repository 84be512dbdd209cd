package ledger_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/audit/ledger"
)

func verify(t testing.TB, export []byte, earlier string) (ledger.Report, error) {
	t.Helper()
	return ledger.Verify(bytes.NewReader(export), ledger.Trust{Keys: keys(t, signing), Earlier: earlier})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 300)
	h.erase(7)
	h.add("no.payload", nil)
	h.addAbout(ledger.Subject{Type: "entry", ID: "7"}, ledger.Erased, map[string]any{"reason": "asked for"})
	got, err := verify(t, h.export(0), "")
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Report{
		Origin: ledger.Origin{Installation: installation, Log: "org-1"}, Log: "org-1", Size: 302,
		Root:     ledger.Hash(mth(h.leaves())),
		Payloads: 300, Erased: 1, Restores: []ledger.Restore{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestVerifyWithTheKeyOfTheFile(t *testing.T) {
	t.Parallel()
	got, err := ledger.Verify(bytes.NewReader(newHistory(t, 3).export(0)), ledger.Trust{})
	if err != nil || !got.KeyFromFile {
		t.Errorf("report = %+v, %v; want a word on the key", got, err)
	}
}

func TestVerifyWithEarlierCheckpoints(t *testing.T) {
	t.Parallel()
	for _, from := range []int{0, 1, 8, 12, 20} {
		h := newHistory(t, from)
		earlier := h.checkpoint(another) // a key that was retired since
		for range 20 - from {
			h.add("call.decided", nil)
		}
		for _, since := range []int{0, from / 2, from} {
			trust := ledger.Trust{Keys: keys(t, signing, another), Earlier: earlier}
			got, err := ledger.Verify(bytes.NewReader(h.export(since)), trust)
			if err != nil || got.Earlier == nil || got.Earlier.Size != int64(from) || got.From != int64(since) {
				t.Errorf("from %d since %d: %+v, %v", from, since, got, err)
			}
		}
		if _, err := verify(t, h.export(20), h.checkpoint(signing)); err != nil {
			t.Errorf("an export of nothing new: %v", err)
		}
	}
}

// TestFlippedBits flips two bits of each byte of an export: the lowest, which
// turns one digit or letter into the next, and the one of upper and lower case.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 2)
	h.erase(1)
	h.addAbout(ledger.Subject{Type: "entry", ID: "1"}, ledger.Erased, map[string]any{"reason": "asked for"})
	h.restore(3, 9, map[string]any{"known": true, "entries": 1, "from": 3})
	for _, since := range []int{0, 3} {
		good := h.export(since)
		if _, err := verify(t, good, ""); err != nil {
			t.Fatal(err)
		}
		for i := range good {
			for _, bit := range []byte{1, 0x20} {
				bad := bytes.Clone(good)
				bad[i] ^= bit
				if _, err := verify(t, bad, ""); err == nil {
					t.Errorf("byte %d (%q) can be %q", i, good[max(0, i-10):i+1], bad[i])
				}
			}
		}
	}
}

// TestTrimmedExports drops and adds a byte everywhere.
func TestTrimmedExports(t *testing.T) {
	t.Parallel()
	good := newHistory(t, 2).export(0)
	for i := range good {
		if _, err := verify(t, append(bytes.Clone(good[:i]), good[i+1:]...), ""); err == nil {
			t.Errorf("byte %d can be dropped", i)
		}
		if _, err := verify(t, good[:i], ""); err == nil {
			t.Errorf("the export can end at byte %d", i)
		}
		for _, extra := range []byte(" \n0\"{") {
			bad := append(append(bytes.Clone(good[:i]), extra), good[i:]...)
			if _, err := verify(t, bad, ""); err == nil {
				t.Errorf("%q can be put before byte %d", extra, i)
			}
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	whole := func() *history { return newHistory(t, 20) }
	seen := whole().checkpoint(signing)
	tests := map[string]struct {
		export  func() []byte
		earlier string
		want    string // in the error
	}{
		"an empty file":   {func() []byte { return nil }, "", "ends too early"},
		"some other JSON": {func() []byte { return []byte("{}\n") }, "", "version"},
		"no JSON":         {func() []byte { return []byte("hello\n") }, "", "not an export"},
		"an entry dropped": {
			func() []byte { h := whole(); h.items = append(h.items[:4:4], h.items[5:]...); return h.export(0) }, "",
			"entry 4 of log org-1 is expected",
		},
		"entries swapped": {
			func() []byte { h := whole(); h.items[4], h.items[5] = h.items[5], h.items[4]; return h.export(0) }, "",
			"is expected",
		},
		"the last entry dropped from the file": {func() []byte {
			lines := bytes.SplitAfter(whole().export(0), []byte("\n"))
			return bytes.Join(lines[:len(lines)-2], nil)
		}, "", "ends too early"},
		"an entry more than the checkpoint": {func() []byte {
			h := whole()
			checkpoint := h.checkpoint(signing)
			h.add("call.decided", nil)
			return h.exportWith(0, checkpoint)
		}, "", "more than the checkpoint covers"},
		"the last entry dropped and signed again": {
			func() []byte { return newHistory(t, 19).export(0) }, seen, "shrunk",
		},
		"rewritten and signed again": {func() []byte {
			h := newHistory(t, 19)
			h.add("call.decided", "another")
			return h.export(0)
		}, seen, "rewritten, or forked"},
		"forked, and longer since": {func() []byte {
			h := newHistory(t, 4)
			for range 30 {
				h.add("call.decided", "another")
			}
			return h.export(0)
		}, seen, "rewritten, or forked"},
		"forked before what is exported": {func() []byte {
			h := newHistory(t, 4)
			for range 30 {
				h.add("call.decided", "another")
			}
			return h.export(20)
		}, seen, "rewritten, or forked"},
		"begins after the checkpoint": {
			func() []byte { h := whole(); h.add("x", nil); return h.export(21) }, seen, "export from 20",
		},
		"another log": {
			func() []byte { h := &history{t: t, log: "org-2"}; h.add("x", nil); return h.export(0) }, seen,
			"another log",
		},
		"entries of another log": {func() []byte {
			h := whole()
			h.log = "org-2"
			return h.export(0)
		}, "", "entry 0 of log org-2 is expected"},
		"an entry of another size": {func() []byte {
			h := whole()
			c := strings.Replace(h.checkpoint(signing), "\n20\n", "\n19\n", 1)
			return h.exportWith(0, c)
		}, "", "signature"},
		"a checkpoint by another key": {
			func() []byte { h := whole(); return h.exportWith(0, h.checkpoint(another)) }, "", "signature",
		},
		"an epoch that begins by itself": {
			func() []byte { h := whole(); h.epoch = 4; h.add("call.decided", nil); return h.export(0) }, "",
			"epoch 4 does not follow",
		},
		"an epoch that goes back": {func() []byte {
			h := whole()
			h.restore(20, 9, nil)
			h.epoch = 3
			h.add(ledger.Restored, nil)
			return h.export(0)
		}, "", "epoch 3 does not follow"},
		"a checkpoint of another epoch than its last entry": {
			func() []byte { h := whole(); h.epoch = 4; return h.export(0) }, "", "the last entry of epoch 0",
		},
		"a frontier that is made up": {func() []byte {
			h := whole()
			mine := newHistory(t, 4)
			mine.items = append(mine.items, h.items[4:]...)
			mine.items[3].record = []byte("{}")
			return mine.exportWith(4, h.checkpoint(signing))
		}, "", "do not give the root"},
		"the checkpoint seen is of a later epoch": {
			func() []byte { return whole().export(0) },
			func() string { h := whole(); h.epoch = 2; return h.checkpoint(signing) }(), "later epoch",
		},
		"the checkpoint seen is not signed": {
			func() []byte { return whole().export(0) }, "hello", "earlier checkpoint",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := verify(t, tt.export(), tt.earlier)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestVerifyRefusesTheKeyOfAnother(t *testing.T) {
	t.Parallel()
	_, err := ledger.Verify(bytes.NewReader(newHistory(t, 3).export(0)), ledger.Trust{Keys: keys(t, another)})
	if err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("err = %v", err)
	}
}

func TestVerifyRefusesOtherPayloads(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(it *item){
		"changed":          func(it *item) { it.payload = []byte(`{"n":2}`) },
		"another spelling": func(it *item) { it.payload = append([]byte(" "), it.payload...) },
		"another salt":     func(it *item) { it.salt = bytes.Repeat([]byte{1}, 32) },
		"a short salt":     func(it *item) { it.salt = it.salt[:31] },
		"no salt":          func(it *item) { it.salt = nil },
	} {
		h := newHistory(t, 3)
		change(&h.items[1])
		if _, err := verify(t, h.export(0), ""); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := newHistory(t, 0)
	h.add("no.payload", nil)
	h.items[0].payload, h.items[0].salt = []byte("{}"), make([]byte, 32)
	if _, err := verify(t, h.export(0), ""); err == nil {
		t.Error("a payload that nothing commits to is taken")
	}
}

// TestSplitView has a server tell two people different histories. Each export
// verifies; with the other's checkpoint neither does.
func TestSplitView(t *testing.T) {
	t.Parallel()
	mine, yours := newHistory(t, 10), newHistory(t, 10)
	mine.add("call.decided", "allow")
	yours.add("call.decided", "deny")
	for _, h := range []*history{mine, yours} {
		if _, err := verify(t, h.export(0), h.checkpoint(signing)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := verify(t, mine.export(0), yours.checkpoint(signing)); err == nil {
		t.Error("my export passes with your checkpoint")
	}
	if _, err := verify(t, yours.export(0), mine.checkpoint(signing)); err == nil {
		t.Error("your export passes with my checkpoint")
	}
}

func TestVerifyARestoredLog(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 20)
	kept, gone := newHistory(t, 12).checkpoint(signing), h.checkpoint(signing)
	h.restore(15, 1_800_000_000, map[string]any{"known": true, "entries": 5, "from": 15})
	h.add("call.decided", nil)
	for _, since := range []int{0, 10, 15} {
		got, err := verify(t, h.export(since), "")
		want := []ledger.Restore{{Index: 15, Epoch: 1_800_000_000, Known: true, Lost: 5}}
		if err != nil || cmp.Diff(want, got.Restores) != "" {
			t.Errorf("since %d: %+v, %v", since, got, err)
		}
	}
	if _, err := verify(t, h.export(0), kept); err != nil {
		t.Errorf("with a checkpoint from before the backup: %v", err)
	}
	_, err := verify(t, h.export(0), gone)
	lost, ok := errors.AsType[*ledger.GoneError](err)
	if !ok || *lost != (ledger.GoneError{From: 15, Until: 20, Epoch: 1_800_000_000}) {
		t.Errorf("err = %v, want that entries 15 to 19 are gone", err)
	}
	if _, err := verify(t, h.export(16), gone); err == nil {
		t.Error("an export from after the restore hides what is gone")
	}
}

// TestVerifyIsBounded gives a line that never ends.
func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	_, err := ledger.Verify(endless{}, ledger.Trust{})
	if err == nil || !strings.Contains(err.Error(), "longer than any") {
		t.Errorf("err = %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

func TestVerifyReportsReadErrors(t *testing.T) {
	t.Parallel()
	good := newHistory(t, 3).export(0)
	broken := io.MultiReader(bytes.NewReader(good[:len(good)-5]), failing{})
	if _, err := ledger.Verify(broken, ledger.Trust{}); !errors.Is(err, errDisk) {
		t.Errorf("err = %v, want the cause", err)
	}
	if _, err := ledger.Verify(io.MultiReader(bytes.NewReader(good), failing{}),
		ledger.Trust{}); !errors.Is(err, errDisk) {
		t.Errorf("err = %v, want the cause", err)
	}
}

var errDisk = errors.New("disk")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDisk }

// TestAnyLogVerifies makes logs of any shape, cuts and epochs.
func TestAnyLogVerifies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t, rapid.IntRange(1, 40).Draw(r, "entries"))
		seenAt := rapid.IntRange(0, len(h.items)).Draw(r, "seen")
		seen := newHistory(t, seenAt).checkpoint(signing)
		if rapid.Bool().Draw(r, "restored") {
			h.restore(rapid.IntRange(seenAt, len(h.items)).Draw(r, "at"), 7, nil)
		}
		since := rapid.IntRange(0, seenAt).Draw(r, "since")
		if _, err := verify(t, h.export(since), seen); err != nil {
			r.Fatal(err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	h := newHistory(f, 3)
	f.Add(h.export(0), h.checkpoint(signing))
	f.Add(h.export(2), "")
	h.restore(2, 5, nil)
	f.Add(h.export(0), "")
	f.Fuzz(func(t *testing.T, export []byte, earlier string) {
		report, err := ledger.Verify(bytes.NewReader(export), ledger.Trust{Keys: keys(t, signing), Earlier: earlier})
		if err == nil && report.Size > 3 {
			t.Errorf("a log of %d entries, which nobody signed, verifies", report.Size)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add(newHistory(f, 1).items[0].record)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ledger.ParseRecord(text)
		if err != nil {
			return
		}
		if again, err := r.Encode(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q encodes to %q (%v)", text, again, err)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	h := newHistory(b, 10_000)
	export := h.export(0)
	b.SetBytes(int64(len(export)))
	for b.Loop() {
		if _, err := verify(b, export, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckInclusion(b *testing.B) {
	leaves := leavesOf(1 << 16)
	proof, err := ledger.ProveInclusion(12345, 1<<16, stored(b, leaves))
	if err != nil {
		b.Fatal(err)
	}
	tree, err := ledger.FrontierOf(1<<16, stored(b, leaves))
	if err != nil {
		b.Fatal(err)
	}
	root := tree.Root()
	for b.Loop() {
		if err := ledger.CheckInclusion(proof, 12345, leaves[12345], 1<<16, root); err != nil {
			b.Fatal(err)
		}
	}
}

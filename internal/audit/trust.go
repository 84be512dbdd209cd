package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
)

// KnownKeys reads every key that ever signed checkpoints here, current and retired.
// Nobody who has only the database can add one: they are sealed.
type KnownKeys func(ctx context.Context, r database.Reader) ([]ed25519.PublicKey, error)

// HeadError refuses to continue a log whose head this installation did not sign: what is
// stored was altered, or came from a copy that no restore has taken over.
type HeadError struct {
	Log   string
	Cause error
}

func (e *HeadError) Error() string {
	return fmt.Sprintf("log %s cannot be continued: %v; restore a backup (writd restore FILE), or have the log go on "+
		"from what is stored, which every verifier will see (writd restore --present)", e.Log, e.Cause)
}

// Unwrap gives the cause.
func (e *HeadError) Unwrap() error { return e.Cause }

// refusal is a HeadError for callers; any other error stays as it is.
func refusal(err error) error {
	if _, ok := errors.AsType[*HeadError](err); !ok {
		return err
	}
	return fault.Wrap(err, fault.Unavailable,
		"the audit log is not the one that this server signed, and is not continued; its operator must restore it")
}

var (
	errUnsigned   = errors.New("its head is not signed")
	errMismatched = errors.New("its head is not the one that was signed")
	errGone       = errors.New("it is gone")
	errShrunk     = errors.New("it has fewer entries than this server has written to it")
)

// trust remembers the heads that were checked, so that a signature is verified only when
// another process has written the head.
type trust struct {
	mu    sync.Mutex
	keys  ledger.Keys     // those that count; grows when an unknown one has signed
	heads map[string]Head // by log, as they were checked or written
	bad   map[string]error
}

// maxTrusted bounds the heads that are remembered.
const maxTrusted = 20_000

func (t *trust) head(log string) (Head, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.heads[log]
	return h, ok
}

func (t *trust) remember(h *Head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.heads[h.Log]; ok && known.Epoch == h.Epoch && known.Size > h.Size {
		return // a slower reader
	}
	if t.heads == nil || len(t.heads) >= maxTrusted {
		t.heads = map[string]Head{}
	}
	t.heads[h.Log] = *h
}

// refuse has a log refused for a reason that its head does not show; nil takes it back.
func (t *trust) refuse(log string, reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad == nil {
		t.bad = map[string]error{}
	}
	if t.bad[log] = reason; reason == nil {
		delete(t.bad, log)
	}
}

func (t *trust) refused(log string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad[log]
}

// checks reports whether the heads of this log are checked: an Unsigned log has no keys,
// and a restore goes on from any head, in a new epoch.
func (l *Log) checks() bool { return l.keys != nil && !l.restoring }

// checkHead refuses a head that this installation has not signed. With locked the caller
// holds the log's lock, so that no head is older than what this process has written.
func (l *Log) checkHead(ctx context.Context, r database.Reader, log string, h *Head, locked bool) error {
	if !l.checks() {
		return nil
	}
	if err := l.trust.refused(log); err != nil {
		return refusal(&HeadError{log, err})
	}
	known, seen := l.trust.head(log)
	switch {
	case seen && locked && known.Epoch == h.Epoch && known.Size > h.Size, seen && locked && h.Epoch < known.Epoch:
		return refusal(&HeadError{log, errShrunk})
	case h.Size == 0 && h.Checkpoint == "":
		return nil // it has just begun, or is about to
	case seen && known.same(h):
		return nil
	}
	if err := l.proveHead(ctx, r, h); err != nil {
		return refusal(err)
	}
	l.trust.remember(h)
	return nil
}

// same reports whether two heads are equal in all that is signed.
func (h *Head) same(other *Head) bool {
	return h.Size == other.Size && h.Epoch == other.Epoch && h.Checkpoint == other.Checkpoint &&
		h.frontier.Equal(&other.frontier)
}

// proveHead checks the signature of a head. Its error is a *HeadError, or one of reading
// the keys.
func (l *Log) proveHead(ctx context.Context, r database.Reader, h *Head) error {
	if h.Checkpoint == "" {
		return &HeadError{h.Log, errUnsigned}
	}
	l.trust.mu.Lock()
	keys := l.trust.keys
	l.trust.mu.Unlock()
	signed, err := ledger.OpenCheckpoint(h.Checkpoint, keys)
	if err != nil { // perhaps by a key that another process has made
		if keys, err = l.readKeys(ctx, r); err != nil {
			return err
		}
		if signed, err = ledger.OpenCheckpoint(h.Checkpoint, keys); err != nil {
			return &HeadError{h.Log, err}
		}
	}
	origin := ledger.Origin{Installation: l.installation, Log: h.Log, Epoch: h.Epoch}
	if signed != (ledger.Checkpoint{Origin: origin, Size: h.Size, Root: h.Root()}) {
		return &HeadError{h.Log, errMismatched}
	}
	return nil
}

// readKeys reads the keys that count.
func (l *Log) readKeys(ctx context.Context, r database.Reader) (ledger.Keys, error) {
	var publics []ed25519.PublicKey
	if l.known != nil {
		var err error
		if publics, err = l.known(ctx, r); err != nil {
			return nil, fmt.Errorf("read the keys of checkpoints: %w", err)
		}
	}
	var keys ledger.Keys
	if present := l.signer.Load(); present != nil && present.public != "" {
		key, err := ledger.ParseKey(present.public)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	for _, public := range publics {
		text, err := l.KeyText(public)
		if err != nil {
			return nil, err
		}
		key, err := ledger.ParseKey(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	l.trust.mu.Lock()
	l.trust.keys = keys
	l.trust.mu.Unlock()
	return keys, nil
}

// BadHeads checks the head of every log, and gives those that cannot be continued.
func (l *Log) BadHeads(ctx context.Context) (bad []*HeadError, err error) {
	heads, err := readSignedHeads(ctx, l.db, 0)
	if err != nil {
		return nil, err
	}
	for i := range heads {
		if heads[i].Size == 0 {
			continue
		}
		err := l.proveHead(ctx, l.db, &heads[i])
		if broken, ok := errors.AsType[*HeadError](err); ok {
			bad = append(bad, broken)
		} else if err != nil {
			return nil, err
		}
	}
	return bad, nil
}

// Signed is the checkpoint of a log as it is now.
type Signed struct {
	Log         string
	Epoch, Size int64
	Checkpoint  string
}

// overlap is how much earlier than it was asked SignedSince looks, in microseconds: the
// clocks of replicas differ.
const overlap = 60_000_000

// SignedSince are the checkpoints of logs that were written since an instant, each
// checked, and the instant to ask for the next time. A log that cannot be continued is
// left out.
func (l *Log) SignedSince(ctx context.Context, since int64) (all []Signed, next int64, err error) {
	next = database.Micros(l.db.Now()) - overlap
	heads, err := readSignedHeads(ctx, l.db, since)
	if err != nil {
		return nil, 0, err
	}
	for i := range heads {
		h := &heads[i]
		if h.Size == 0 || l.checkHead(ctx, l.db, h.Log, h, false) != nil {
			continue
		}
		all = append(all, Signed{h.Log, h.Epoch, h.Size, h.Checkpoint})
	}
	return all, next, nil
}

// Covers reports whether a log begins with what an earlier checkpoint of it covers. An
// error says how it does not.
func (l *Log) Covers(ctx context.Context, log, signed string) error {
	head, err := ReadHead(ctx, l.db, log)
	if err != nil {
		return err
	}
	l.trust.mu.Lock()
	keys := l.trust.keys
	l.trust.mu.Unlock()
	seen, err := ledger.OpenCheckpoint(signed, keys)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCovered, err)
	}
	switch {
	case seen.Origin.Installation != l.installation || seen.Origin.Log != log:
		return fmt.Errorf("%w: it was seen under another name", ErrNotCovered)
	case seen.Origin.Epoch < head.Epoch:
		return nil // it was restored since, and says so
	case seen.Origin.Epoch > head.Epoch || seen.Size > head.Size:
		return fmt.Errorf("%w: it was seen with %d entries in epoch %d, and has %d in epoch %d", ErrNotCovered, seen.Size,
			seen.Origin.Epoch, head.Size, head.Epoch)
	}
	began, err := ledger.FrontierOf(seen.Size, treeOf(ctx, l.db, log, head.Size))
	if err != nil {
		return err
	}
	if began.Root() != seen.Root {
		return fmt.Errorf("%w: its first %d entries are not those that were seen", ErrNotCovered, seen.Size)
	}
	return nil
}

// ErrNotCovered refuses a log that does not begin with what was seen of it.
var ErrNotCovered = errors.New("the log is not the one that was seen before")

// Refuse has a log refused until the process ends, for a reason that its head does not
// show.
func (l *Log) Refuse(log string, reason error) { l.trust.refuse(log, reason) }

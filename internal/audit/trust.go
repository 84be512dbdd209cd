package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"sync"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/fault"
)

// KnownKeys reads every key that ever signed checkpoints here, current and retired.
// Nobody who has only the database can add one: they are sealed.
type KnownKeys func(ctx context.Context, r database.Reader) ([]ed25519.PrivateKey, error)

// HeadError refuses to continue a log whose head this installation did not sign: what is
// stored was altered, or came from a copy that no restore has taken over.
type HeadError struct {
	Log   string
	Cause error
}

func (e *HeadError) Error() string {
	if errors.Is(e.Cause, ErrWitness) {
		return fmt.Sprintf("log %s cannot be continued: %v", e.Log, e.Cause)
	}
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
	if errors.Is(err, ErrWitness) {
		return fault.Wrap(err, fault.Unavailable, "the audit log is not the one that its witness file has seen, and is not "+
			"continued; its operator must find out which of the two was altered, or is of another time: the server's log says how")
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

// ErrWitness is in the reason for which a log is refused that is not the one that the witness file has seen: going on
// from what is stored does not help.
var ErrWitness = errors.New("the witness file has seen another log")

// trust remembers the heads that were checked, so that a signature is verified only when
// another process has written the head.
type trust struct {
	mu    sync.Mutex
	keys  ledger.Keys     // those that count; grows when an unknown one has signed
	seals [][]byte        // the keys of seals that count
	heads map[string]Head // by log, as they were checked or written
	bad   map[string]error

	resealed []string // logs whose seal was wrong, and is not any more
}

func (t *trust) sealKeys() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seals
}

func (t *trust) noteResealed(log string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resealed = append(t.resealed, log)
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
	case h.Size == 0 && h.Checkpoint == "" && !h.damaged:
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
		h.state == other.state && h.frontier.Equal(&other.frontier)
}

// proveHead checks the signature and the seal of a head. Its error is a *HeadError, or one
// of reading the keys.
func (l *Log) proveHead(ctx context.Context, r database.Reader, h *Head) error {
	if err := l.proveSignature(ctx, r, h); err != nil {
		return err
	}
	switch {
	case h.isSealed(l.trust.sealKeys()):
		return nil
	case h.seal == "":
		return &HeadError{h.Log, errUnsealed}
	}
	return &HeadError{h.Log, errBadlySealed}
}

// proveSignature checks the signature of a head, as proveHead.
func (l *Log) proveSignature(ctx context.Context, r database.Reader, h *Head) error {
	switch {
	case h.damaged:
		return &HeadError{h.Log, errMismatched}
	case h.Checkpoint == "":
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
	var privates []ed25519.PrivateKey
	if l.known != nil {
		var err error
		if privates, err = l.known(ctx, r); err != nil {
			return nil, fmt.Errorf("read the keys of checkpoints: %w", err)
		}
	}
	var keys ledger.Keys
	var seals [][]byte
	add := func(s *signer) error {
		key, err := ledger.ParseKey(s.public)
		keys, seals = append(keys, key), append(seals, s.sealKey)
		return err
	}
	if present := l.signer.Load(); present != nil && present.public != "" {
		if err := add(present); err != nil {
			return nil, err
		}
	}
	for _, private := range privates {
		earlier, err := l.newSigner(private)
		if err == nil {
			err = add(earlier)
		}
		if err != nil {
			return nil, err
		}
	}
	l.trust.mu.Lock()
	l.trust.keys, l.trust.seals = keys, seals
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
		if heads[i].Size == 0 && !heads[i].damaged {
			continue
		}
		err := l.proveHead(ctx, l.db, &heads[i])
		if l.restoring {
			err = l.proveEntries(ctx, &heads[i])
		}
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
	heads, next, err := l.signedHeads(ctx, since)
	for _, h := range heads {
		all = append(all, Signed{h.Log, h.Epoch, h.Size, h.Checkpoint})
	}
	return all, next, err
}

func (l *Log) signedHeads(ctx context.Context, since int64) (good []Head, next int64, err error) {
	next = database.Micros(l.db.Now()) - overlap
	heads, err := readSignedHeads(ctx, l.db, since)
	if err != nil {
		return nil, 0, err
	}
	for i := range heads {
		if h := &heads[i]; h.Size > 0 && l.checkHead(ctx, l.db, h.Log, h, false) == nil {
			good = append(good, *h)
		}
	}
	return good, next, nil
}

// Covers reports whether a log begins with what an earlier checkpoint of it covers. An
// error says how it does not.
func (l *Log) Covers(ctx context.Context, log, signed string) error {
	l.trust.mu.Lock()
	keys := l.trust.keys
	l.trust.mu.Unlock()
	seen, err := ledger.OpenCheckpoint(signed, keys)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCovered, err)
	}
	if seen.Origin.Installation != l.installation || seen.Origin.Log != log {
		return fmt.Errorf("%w: it was seen under another name", ErrNotCovered)
	}
	head, err := ReadHead(ctx, l.db, log)
	if err != nil {
		return err
	}
	return l.begins(ctx, &head, anchor{log, seen.Origin.Epoch, seen.Size, seen.Root})
}

// ErrNotCovered refuses a log that does not begin with what was seen of it.
var ErrNotCovered = errors.New("the log is not the one that was seen before")

// Refuse has a log refused for a reason that its head does not show, until a check takes
// it back: nil.
func (l *Log) Refuse(log string, reason error) { l.trust.refuse(log, reason) }

// IsRefused reports whether a log is refused for such a reason.
func (l *Log) IsRefused(log string) bool { return l.trust.refused(log) != nil }

// RefuseOnly has these logs refused, and no others.
func (l *Log) RefuseOnly(bad map[string]error) {
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	l.trust.bad = maps.Clone(bad)
}

// Reseal seals heads anew whose seal is wrong, and gives the logs of which that was so
// since the last time.
func (l *Log) Reseal(ctx context.Context) ([]string, error) {
	err := l.sealHeads(ctx)
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	resealed := l.trust.resealed
	l.trust.resealed = nil
	return resealed, err
}
